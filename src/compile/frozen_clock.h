// __DATE__ and __TIME__ must not make one source two binaries.
#pragma once

namespace cudaagent::compile {

// From now on time(2) as this program and the libraries it loads call it answers one fixed moment,
// in UTC. For a forked child only; other clocks go on.
void FreezeClock();

}  // namespace cudaagent::compile
