// Where things lie. XDG base directory specification; a relative value in the environment is
// ignored, as the specification demands. No function creates anything.
#pragma once

#include <string>

namespace cudaagent::util {

std::string
CacheDir();  // $CUDAAGENT_CACHE_DIR, else $XDG_CACHE_HOME/cudaagent, else ~/.cache/cudaagent
std::string ConfigDir();  // $XDG_CONFIG_HOME/cudaagent, else ~/.config/cudaagent
std::string StateDir();   // $XDG_STATE_HOME/cudaagent, else ~/.local/state/cudaagent

// The folder the running program's file lies in (links resolved).
std::string ProgramDir();

// /tmp/cudaagent-<uid>: lock files shared by all of one user's runs on this host, so $TMPDIR does
// not move it.
std::string LockDir();

}  // namespace cudaagent::util
