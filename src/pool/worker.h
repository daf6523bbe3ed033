// The worker of one device: Absent > Starting > Idle > Busy > Absent. It starts, runs one job at a
// time and is ended; a warm spare (torch imported, no device opened) hides the cost of the next
// start. Respawning is its caller's decision. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "pool/child.h"
#include "protocol/messages.h"

namespace cudaagent::pool {

struct WorkerOptions {
  std::string program;    // path of cudaagent-worker
  std::string device;     // "cpu" | "gpu:N"
  std::string model_gpu;  // the CPU device's target
  std::string log_dir;    // worker-1.log, worker-2.log, ... are made there
  std::vector<std::string> environment;
  double hello_s = 120;
};

enum class WorkerState { kAbsent, kStarting, kIdle, kBusy };

class Worker {
 public:
  explicit Worker(WorkerOptions options);
  // Stops worker and spare.
  ~Worker();

  // Absent -> Starting. Becomes the spare where one lives (a spare opens its device and says hello
  // only when its first job comes), else starts a process. kEnvironment, also where an earlier
  // process could not be killed: its device is quarantined.
  Result<void> Launch();
  // Starting -> Idle for a worker that was no spare; a spare says hello once Begin() has woken it,
  // and stays Busy. kEnvironment and Absent where it fails.
  Result<protocol::Hello> AwaitHello();

  // Sends a job: Idle (or Starting) -> Busy.
  tl::expected<void, Trouble> Begin(const protocol::ToWorker& job);
  // Its answer: Busy -> Idle; on Trouble -> Absent. A spare's hello is taken first; that it fails
  // is kDied or kTimedOut in stage "hello".
  tl::expected<protocol::FromChild, Trouble> Finish(const std::string& stage,
                                                    const StageLimits& limits);

  // Idle -> Absent where the process has died since its last answer; the state then is true.
  WorkerState Look();
  // Idle -> Absent: ends the process at once (it is poisoned or not trusted any more).
  void Retire();
  // Starts a spare where there is none; a failure to start is found by the Launch that would use
  // it.
  void EnsureSpare();
  void DropSpare();

  WorkerState state() const { return state_; }
  int answers() const { return answers_; }  // of the present process
  bool has_spare();
  pid_t pid() const { return child_ ? child_->pid() : -1; }
  pid_t spare_pid() const { return spare_ ? spare_->pid() : -1; }
  // Of the present or latest process.
  const std::string& last_log_path() const { return log_path_; }

 private:
  Result<std::unique_ptr<Child>> Spawn(bool spare);
  void Bury();

  WorkerOptions options_;
  std::unique_ptr<Child> child_;
  std::unique_ptr<Child> spare_;
  WorkerState state_ = WorkerState::kAbsent;
  bool greeted_ = false;
  bool quarantined_ = false;
  int answers_ = 0;
  int processes_ = 0;
  std::string log_path_;
};

}  // namespace cudaagent::pool
