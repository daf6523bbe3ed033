// A forked copy of this process that does one thing, writes its result to a pipe and ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

#include "cudaagent/result.h"
#include "util/fd.h"

namespace cudaagent::compile {

// Move-only; destruction kills and reaps. The parent must have no threads.
class ForkedTask {
 public:
  using Clock = std::chrono::steady_clock;

  // How it ended, after Finish().
  struct End {
    bool timed_out = false;   // killed at its deadline
    bool overflowed = false;  // killed for writing more than `max_bytes`
    int signal = 0;           // the signal that ended it, 0 = none
    int status = 0;           // exit status where it exited
    int64_t peak_bytes = 0;   // resident
    double cpu_seconds = 0;
  };

  // The child runs `body(fd)`, where fd is the pipe's end to write to, and exits with what it
  // returns. It has no other descriptors than stdin (/dev/null), stdout, stderr and fd, and dies
  // with its parent. kEnvironment where no process or pipe is to be had.
  static Result<ForkedTask> Start(const std::function<int(int)>& body, double timeout_s,
                                  size_t max_bytes);

  ForkedTask() = default;
  ForkedTask(ForkedTask&& other) noexcept;
  ForkedTask& operator=(ForkedTask&& other) noexcept;
  ~ForkedTask();

  pid_t pid() const { return pid_; }
  int fd() const { return pipe_.get(); }  // readable when there is something to Read()
  Clock::time_point deadline() const { return deadline_; }

  // Takes what the child wrote, without blocking, and enforces deadline and size. True once nothing
  // more will come: then Finish().
  bool Read();
  // Reaps. Blocks only as long as the kernel needs to end a process.
  End Finish();
  const std::string& output() const { return output_; }

 private:
  void Kill();

  pid_t pid_ = -1;
  util::UniqueFd pipe_;
  Clock::time_point deadline_;
  size_t max_bytes_ = 0;
  std::string output_;
  End end_;
};

}  // namespace cudaagent::compile
