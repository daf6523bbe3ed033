// A worker that has the problem loaded, and is kept that way: started, loaded, run, and after a
// death, a kill or poison started and loaded again. One thread at a time.
#pragma once

#include <functional>
#include <string>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "evaluate/evaluator.h"
#include "pool/worker.h"

namespace cudaagent::evaluate {

class LoadedWorker {
 public:
  LoadedWorker(pool::WorkerOptions options, ProblemSpec spec, Timeouts timeouts);

  // Starts the process; waits for nothing.
  Result<void> Launch();
  // The first hello: from then on device() is known. kEnvironment with the log's tail.
  Result<void> AwaitHello();
  // In place of Launch() and AwaitHello(), in two steps: a process that imports what it needs and
  // opens no device yet; then it opens its device, is given the problem and says hello.
  void Prepare() { worker_.EnsureSpare(); }
  Result<void> Wake();
  void Unprepare() { worker_.DropSpare(); }
  // Loads the problem for the first time. The user's own mistakes come back as kUsage.
  Result<void> Load();

  // A worker with the problem loaded, whatever happened to the last one; three failures in a row
  // are kEnvironment.
  Result<void> EnsureReady();
  // One job of a ready worker. On Trouble the process is gone.
  tl::expected<protocol::FromChild, pool::Trouble> Run(const protocol::ToWorker& job,
                                                       const std::string& stage,
                                                       const pool::StageLimits& limits);
  // Ends the process, which is of no more use.
  void Retire();
  // Between jobs, without waiting: where there is no process, starts one (the spare, if there is
  // one) and sends it the problem; else starts a spare if one is wanted. A failure is found by
  // EnsureReady().
  void Recover(bool want_spare);

  const DeviceStamp& device() const { return device_; }
  const ProblemInfo& problem() const { return problem_; }
  // Whether the present process has answered a job since it loaded the problem.
  bool served() const { return worker_.answers() > 1; }
  // Whether the present process has been given a candidate.
  bool had_candidates() const { return had_candidates_; }

 private:
  Result<void> BeginLoad();
  Result<void> AwaitProblem();

  pool::Worker worker_;
  ProblemSpec spec_;
  Timeouts timeouts_;
  DeviceStamp device_;
  ProblemInfo problem_;
  bool known_ = false;  // problem_ is filled
  bool had_candidates_ = false;
};

}  // namespace cudaagent::evaluate
