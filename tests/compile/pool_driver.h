// Compiles through a CompilePool of the test's own, with its own cache.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/compile_pool.h"
#include "util/file.h"

namespace cudaagent::compile {

class PoolDriver {
 public:
  explicit PoolDriver(Options options = {}) {
    auto dir = util::TempDir::Create("compile-test");
    if (!dir) throw FatalError(dir.error().message);
    dir_ = std::make_unique<util::TempDir>(std::move(*dir));
    if (options.cache_dir.empty()) options.cache_dir = dir_->path() + "/cache";
    auto pool = CompilePool::Create(options);
    if (!pool) throw FatalError(pool.error().message);
    pool_ = std::move(*pool);
  }
  ~PoolDriver() {
    pool_.reset();
    std::filesystem::current_path("/");  // the pool's working folder is gone
  }

  CompilePool& pool() { return *pool_; }
  const std::string& dir() const { return dir_->path(); }

  static protocol::CompileJob Job(std::string source, std::vector<std::string> kernels = {}) {
    protocol::CompileJob job;
    job.source = std::move(source);
    job.kernels = std::move(kernels);
    job.arch = "sm_90a";
    return job;
  }

  // Waits for something to happen, at most 100 ms.
  void Step() {
    std::vector<pollfd> fds;
    pool_->AddPollFds(fds);
    const int timeout = pool_->PollTimeoutMillis();
    ::poll(fds.data(), fds.size(), timeout < 0 ? 100 : std::min(timeout, 100));
    pool_->Advance();
  }

  std::vector<protocol::CompileReply> Drain(size_t count) {
    std::vector<protocol::CompileReply> replies;
    for (;;) {
      for (auto& reply : pool_->TakeReplies()) replies.push_back(std::move(reply));
      if (replies.size() >= count) return replies;
      Step();
    }
  }

  protocol::CompileReply Run(protocol::CompileJob job) {
    pool_->Submit(std::move(job));
    return Drain(1).front();
  }
  protocol::CompileReply Run(std::string source, std::vector<std::string> kernels = {}) {
    return Run(Job(std::move(source), std::move(kernels)));
  }

  void FinishWarming() {
    while (pool_->warming()) Step();
  }

 private:
  std::unique_ptr<util::TempDir> dir_;
  std::unique_ptr<CompilePool> pool_;
};

}  // namespace cudaagent::compile
