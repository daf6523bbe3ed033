// One cudaagent-compile and the jobs it has in flight. Compiles several at once, restarts the
// program when it dies, kills it when it hangs. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cudaagent/result.h"
#include "pool/child.h"
#include "protocol/messages.h"
#include "util/fd.h"
#include "util/time.h"

namespace cudaagent::pool {

struct CompilerOptions {
  std::string program;    // path of cudaagent-compile
  std::string cache_dir;  // where it keeps cubins
  std::string log_dir;    // compile.log is made there
  std::vector<std::string> environment;
  double hello_s = 120;  // prewarming included
  // Beyond a job's own timeout_s without any answer before the program counts as hung. It runs a
  // few jobs at once and keeps their limits itself: while it answers, the others wait for their
  // turn.
  double grace_s = 30;
};

class CompilerPool {
 public:
  // Starts the program and a thread that talks to it; waits for nothing.
  explicit CompilerPool(CompilerOptions options);
  // Jobs in flight get kCancelled.
  ~CompilerPool();
  CompilerPool(const CompilerPool&) = delete;
  CompilerPool& operator=(const CompilerPool&) = delete;

  // Blocks until the compiler's first hello. kEnvironment with its log's tail where it will not
  // come.
  Result<protocol::Hello> AwaitReady();

  // `job.id` is set here. The future gets the reply, an infra_error reply where the compiler died
  // or hung twice with this job in flight, or kEnvironment where it does not start any more.
  std::future<Result<protocol::CompileReply>> Submit(protocol::CompileJob job);

  pid_t pid() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    protocol::CompileJob job;
    std::promise<Result<protocol::CompileReply>> promise;
    Clock::time_point deadline;
    bool sent = false;
    int failures = 0;  // ends of the compiler while this job was in flight
  };

  void Loop();
  // Starts the program and takes its hello; after three failures in a row the pool is broken.
  bool EnsureChild();
  // Until the hello arrives or its time has passed; false = the pool is being destroyed.
  bool AwaitFirstByte(const Child& child, util::Deadline deadline);
  void SendQueued();
  Clock::time_point DeadlineOf(const protocol::CompileJob& job) const;
  // Sleeps until there is something to read, a new job or a deadline; true = something to read.
  bool WaitForNews();
  void ReadOne();
  void ExpireJobs();
  // The child has ended: its jobs are queued again, or answered where it was their second time.
  void Requeue(const std::string& why);
  void FailAll(const Error& error);

  const CompilerOptions options_;
  util::UniqueFd wake_;

  mutable std::mutex mutex_;  // guards what follows
  std::map<int64_t, Pending> pending_;
  int64_t next_id_ = 1;
  bool stopping_ = false;
  std::optional<Error> broken_;
  pid_t pid_ = -1;

  // The thread's own.
  std::unique_ptr<Child> child_;
  std::promise<Result<protocol::Hello>> ready_;
  std::shared_future<Result<protocol::Hello>> ready_future_;
  bool announced_ = false;
  int failed_starts_ = 0;
  std::thread thread_;
};

}  // namespace cudaagent::pool
