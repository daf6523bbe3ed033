// Compiles in flight: the cache, the children, the queue before them. One thread, driven by
// poll(2).
#pragma once

#include <poll.h>

#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "compile/cubin_cache.h"
#include "compile/options.h"
#include "compile/precompiled_headers.h"
#include "compile/scratch_dir.h"
#include "protocol/messages.h"

namespace cudaagent::compile {

class CompilePool {
 public:
  // Loads NVRTC and opens the cache; fast. kEnvironment where one of them is not to be had.
  static Result<std::unique_ptr<CompilePool>> Create(const Options& options);
  ~CompilePool();  // kills what runs

  // Precompiles headers; takes some 0.1 s here and seconds in the background.
  void Warm();

  // Its reply comes out of TakeReplies, at once where the cache has it or the job is no job.
  void Submit(protocol::CompileJob job);

  // What to poll for and for how long, then what to do when poll returns.
  void AddPollFds(std::vector<pollfd>& fds) const;
  int PollTimeoutMillis() const;  // -1 = nothing to wait for
  void Advance();

  std::vector<protocol::CompileReply> TakeReplies();
  bool idle() const { return running_.empty() && queue_.empty() && replies_.empty(); }
  bool warming() const { return headers_->busy(); }

  const NvrtcLibrary& library() const { return *library_; }
  JailKind jail() const { return setup_.jail; }
  // For tests and the log: the processes that compile candidates now.
  std::vector<pid_t> Children() const;

 private:
  struct Running {
    protocol::CompileJob job;
    std::string key;
    ForkedTask task;
    std::shared_ptr<const std::string> keep;  // its precompiled header
    std::chrono::steady_clock::time_point start;
  };

  CompilePool() = default;
  void Start(protocol::CompileJob job);
  void Finish(Running& running);

  Options options_;
  int slots_ = 1;
  std::unique_ptr<NvrtcLibrary> library_;
  ChildSetup setup_;
  std::unique_ptr<ScratchDir> scratch_;  // removed last
  std::unique_ptr<CubinCache> cache_;
  std::unique_ptr<PrecompiledHeaders> headers_;
  std::deque<protocol::CompileJob> queue_;
  std::list<Running> running_;
  std::vector<protocol::CompileReply> replies_;
};

}  // namespace cudaagent::compile
