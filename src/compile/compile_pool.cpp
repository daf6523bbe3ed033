#include "compile/compile_pool.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "util/log.h"
#include "util/paths.h"
#include "util/time.h"

namespace cudaagent::compile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMinMemoryBytes = 1LL
                                    << 30;  // NVRTC, its heap and the headers need this much room

int CpuCores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

protocol::CompileReply InfraReply(int64_t id, std::string message) {
  protocol::CompileReply reply;
  reply.id = id;
  reply.ok = false;
  reply.verdict = Verdict::kInfraError;
  reply.message = std::move(message);
  return reply;
}

Result<JailKind> ChooseJail(const std::string& wanted) {
  const JailKind best = wanted == "auto" ? BestJail() : JailKind::kNone;
  if (wanted == "auto") return best;
  if (wanted == "landlock") return JailKind::kLandlock;
  if (wanted == "chroot") return JailKind::kChroot;
  return JailKind::kNone;
}

}  // namespace

Result<std::unique_ptr<CompilePool>> CompilePool::Create(const Options& options) {
  std::unique_ptr<CompilePool> pool(new CompilePool);
  pool->options_ = options;
  pool->slots_ = options.jobs > 0 ? options.jobs : CpuCores();
  auto library = NvrtcLibrary::Load(options.places);
  if (!library) return tl::unexpected(library.error());
  pool->library_ = std::move(*library);
  auto include_dirs = IncludeDirs(*pool->library_, options.places);
  if (!include_dirs) return tl::unexpected(include_dirs.error());

  std::error_code error;
  const std::filesystem::path dir = std::filesystem::absolute(
      options.cache_dir.empty() ? util::CacheDir() + "/compile" : options.cache_dir, error);
  auto cache = CubinCache::Open({.dir = dir.string(), .max_bytes = options.cache_bytes});
  if (!cache) return tl::unexpected(cache.error());
  pool->cache_ = std::make_unique<CubinCache>(std::move(*cache));
  auto scratch = ScratchDir::Create(dir.string() + "/scratch");
  if (!scratch) return tl::unexpected(scratch.error());
  pool->scratch_ = std::make_unique<ScratchDir>(std::move(*scratch));

  // The working folder of every compile: empty, ours, and where a chroot jail mounts its root.
  const std::string run = pool->scratch_->path();
  const std::string empty = run + "/empty", pch = run + "/pch", tmp = run + "/tmp";
  if (::mkdir(empty.c_str(), 0700) != 0 || ::mkdir(pch.c_str(), 0700) != 0 ||
      ::mkdir(tmp.c_str(), 0700) != 0 || ::chdir(empty.c_str()) != 0) {
    return Fail(ErrorCode::kEnvironment, "The compiler's working folder " + empty +
                                             " could not be made: " + std::strerror(errno) + ".");
  }
  auto jail = ChooseJail(options.jail);
  pool->setup_.library = pool->library_.get();
  pool->setup_.include_dirs = std::move(*include_dirs);
  pool->setup_.jail = *jail;
  pool->setup_.readable = {std::filesystem::path(pool->library_->path()).parent_path().string(),
                           pch};
  pool->setup_.tmp_dir = tmp;
  pool->headers_ = std::make_unique<PrecompiledHeaders>(pool->setup_, pch);
  if (*jail == JailKind::kNone) {
    util::LogWarn("Candidates are compiled without a file jail: neither Landlock nor root.");
  }
  return pool;
}

CompilePool::~CompilePool() = default;

void CompilePool::Warm() {
  protocol::CompileJob job;
  job.arch = options_.arch;
  headers_->Warm(NvrtcOptions(job, setup_.include_dirs));
  headers_->MakeNext();
}

void CompilePool::Submit(protocol::CompileJob job) {
  job.timeout_s = std::clamp(job.timeout_s, 0.1, 3600.0);
  job.memory_bytes = std::max(job.memory_bytes, kMinMemoryBytes);
  protocol::CompileReply refusal;
  if (RefuseJob(job, refusal)) {
    replies_.push_back(std::move(refusal));
  } else {
    queue_.push_back(std::move(job));
  }
  Advance();
}

void CompilePool::Start(protocol::CompileJob job) {
  const util::Stopwatch watch;
  const std::vector<std::string> nvrtc_options = NvrtcOptions(job, setup_.include_dirs);
  const std::string key =
      CubinCache::Key(library_->fingerprint(), nvrtc_options, job.source, job.kernels);
  if (auto found = cache_->Find(key)) {
    found->id = job.id;
    found->report.seconds = watch.Seconds();
    replies_.push_back(std::move(*found));
    return;
  }
  const PrecompiledHeaders::Choice choice = headers_->For(job.source, nvrtc_options);
  auto task = StartCompile(setup_, job, choice.first);
  if (!task) {
    replies_.push_back(InfraReply(job.id, task.error().message));
    return;
  }
  running_.push_back({std::move(job), key, std::move(*task), choice.keep, Clock::now()});
}

void CompilePool::Finish(Running& running) {
  Compiled compiled = FinishCompile(running.job, running.task);
  compiled.reply.report.seconds =
      std::chrono::duration<double>(Clock::now() - running.start).count();
  if (!compiled.reply.ok) {
    replies_.push_back(std::move(compiled.reply));
    return;
  }
  auto stored = cache_->Store(running.key, compiled);
  replies_.push_back(stored ? std::move(*stored)
                            : InfraReply(running.job.id, stored.error().message));
  replies_.back().id = running.job.id;
}

void CompilePool::AddPollFds(std::vector<pollfd>& fds) const {
  for (const Running& running : running_) fds.push_back({running.task.fd(), POLLIN, 0});
  if (ForkedTask* task = headers_->task()) fds.push_back({task->fd(), POLLIN, 0});
}

int CompilePool::PollTimeoutMillis() const {
  if (!replies_.empty()) return 0;
  bool any = false;
  auto first = Clock::time_point::max();
  for (const Running& running : running_) {
    any = true;
    first = std::min(first, running.task.deadline());
  }
  if (ForkedTask* task = headers_->task()) {
    any = true;
    first = std::min(first, task->deadline());
  }
  return any ? util::Deadline(first).RemainingMillis() : -1;
}

void CompilePool::Advance() {
  for (auto it = running_.begin(); it != running_.end();) {
    if (it->task.Read()) {
      Finish(*it);
      it = running_.erase(it);
    } else {
      ++it;
    }
  }
  while (!queue_.empty() && static_cast<int>(running_.size()) < slots_) {
    protocol::CompileJob job = std::move(queue_.front());
    queue_.pop_front();
    Start(std::move(job));
  }
  if (headers_->task() != nullptr && headers_->task()->Read()) headers_->FinishTask();
  headers_->MakeNext();
}

std::vector<protocol::CompileReply> CompilePool::TakeReplies() {
  return std::exchange(replies_, {});
}

std::vector<pid_t> CompilePool::Children() const {
  std::vector<pid_t> pids;
  for (const Running& running : running_) pids.push_back(running.task.pid());
  return pids;
}

}  // namespace cudaagent::compile
