// One child process, started by argv and never through a shell, with a socket to it.
//
// In the child: fd 0 is /dev/null, fd 1 and 2 the log file, fd 3 one end of a stream socket pair,
// every other descriptor closed; own process group; exactly the given environment; default signal
// handling; core limit 0; SIGKILL should the parent die (a second belt: children watch fd 3).
// Safe in a parent with threads. After a fork() of the parent itself only exec is safe, as ever.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "util/fd.h"

namespace cudaagent::util {

// How a process ended.
struct Death {
  bool signalled = false;
  int code = 0;  // exit status or signal number
  // "exited with status 1", "was killed by signal 11 (SIGSEGV)"
  std::string InWords() const;
};

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0]: path of the program
  std::vector<std::string> environment;  // "NAME=value"
  std::string log_path;                  // appended to; empty = /dev/null
  std::string working_dir;               // empty = the parent's
};

// Move-only. Destruction kills the group and reaps.
class Subprocess {
 public:
  // kEnvironment where the program cannot be started, its log not opened or no process be had.
  static Result<Subprocess> Spawn(const SpawnOptions& options);

  Subprocess() = default;
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();

  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0; }  // not yet reaped
  int socket() const { return socket_.get(); }
  void CloseSocket() { socket_.reset(); }

  // Signals the whole process group; nothing once reaped.
  void Signal(int signal) const;
  // Waits up to `seconds` (0 = look once) for the child's end. What is left of its group is then
  // killed and the child reaped. nullopt = still alive. After it was reaped: the same answer again.
  std::optional<Death> Wait(double seconds);
  // SIGKILL to the group, then Wait. nullopt: not even SIGKILL ended it in time.
  std::optional<Death> Kill(double seconds);

 private:
  pid_t pid_ = -1;
  UniqueFd socket_;
  std::optional<Death> death_;
};

}  // namespace cudaagent::util
