// Keys in our own environment, hidden from other processes of the same user.
#pragma once

namespace cudaagent::cli {

// The kernel shows a process's first environment block in /proc/PID/environ. Moves the values of
// variables whose names say that they hold secrets (util::NamesSecret) out of it and overwrites
// their bytes there; getenv() finds them as before. Call first, before threads start.
void HideKeys();

}  // namespace cudaagent::cli
