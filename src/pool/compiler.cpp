#include "pool/compiler.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "util/time.h"

namespace cudaagent::pool {
namespace {

constexpr int kMaxFailedStarts = 3;
constexpr int kMaxFailures = 2;
constexpr double kFrameSeconds = 30;  // from a frame's first byte to its last

std::chrono::steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

CompilerPool::CompilerPool(CompilerOptions options)
    : options_(std::move(options)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ready_future_(ready_.get_future().share()) {
  thread_ = std::thread([this] { Loop(); });
}

CompilerPool::~CompilerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

Result<protocol::Hello> CompilerPool::AwaitReady() { return ready_future_.get(); }

std::future<Result<protocol::CompileReply>> CompilerPool::Submit(protocol::CompileJob job) {
  std::lock_guard lock(mutex_);
  Pending pending;
  pending.job = std::move(job);
  pending.job.id = next_id_++;
  std::future<Result<protocol::CompileReply>> reply = pending.promise.get_future();
  if (broken_) {
    pending.promise.set_value(tl::unexpected(*broken_));
  } else {
    pending_.emplace(pending.job.id, std::move(pending));
    ::eventfd_write(wake_.get(), 1);
  }
  return reply;
}

pid_t CompilerPool::pid() const {
  std::lock_guard lock(mutex_);
  return pid_;
}

void CompilerPool::Loop() {
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    if (!EnsureChild()) continue;
    SendQueued();
    if (child_ && WaitForNews()) ReadOne();
    ExpireJobs();
  }
  if (child_) child_->Stop();
  if (!announced_) ready_.set_value(Fail(ErrorCode::kCancelled, "The compiler was stopped."));
  FailAll(Error{ErrorCode::kCancelled, "The compiler was stopped."});
}

bool CompilerPool::EnsureChild() {
  if (child_) return true;
  {
    std::unique_lock lock(mutex_);
    // Dead and nothing to do, or beyond hope: wait for news rather than restart.
    if (broken_ || (announced_ && pending_.empty())) {
      lock.unlock();
      pollfd wait{wake_.get(), POLLIN, 0};
      ::poll(&wait, 1, -1);
      eventfd_t ignored;
      ::eventfd_read(wake_.get(), &ignored);
      return false;
    }
  }
  ChildOptions options;
  options.program = options_.program;
  options.kind = "compile";
  options.args = {"--cache-dir", options_.cache_dir};
  options.environment = options_.environment;
  options.log_path = options_.log_dir + "/compile.log";
  Result<std::unique_ptr<Child>> child = Child::Spawn(std::move(options));
  const util::Deadline deadline = util::Deadline::After(options_.hello_s);
  if (child && !AwaitFirstByte(**child, deadline)) return false;
  Result<protocol::Hello> hello = child ? (*child)->AwaitHello(deadline)
                                        : Result<protocol::Hello>(tl::unexpected(child.error()));
  if (hello) {
    child_ = std::move(*child);
    failed_starts_ = 0;
    std::lock_guard lock(mutex_);
    pid_ = child_->pid();
  } else if (!announced_ || ++failed_starts_ >= kMaxFailedStarts) {
    // The first start is not repeated: what is missing then stays missing.
    {
      std::lock_guard lock(mutex_);
      broken_ = hello.error();
    }
    FailAll(hello.error());
  }
  if (!announced_) {
    announced_ = true;
    ready_.set_value(hello);
  }
  return child_ != nullptr;
}

bool CompilerPool::AwaitFirstByte(const Child& child, util::Deadline deadline) {
  pollfd waits[] = {{child.socket(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (waits[0].revents == 0 && !deadline.Passed()) {
    ::poll(waits, 2, deadline.RemainingMillis());
    eventfd_t ignored;
    ::eventfd_read(wake_.get(), &ignored);
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
  }
  return true;
}

CompilerPool::Clock::time_point CompilerPool::DeadlineOf(const protocol::CompileJob& job) const {
  return Clock::now() + Seconds(job.timeout_s + options_.grace_s);
}

void CompilerPool::SendQueued() {
  while (true) {
    std::string message;
    {
      std::lock_guard lock(mutex_);
      const auto next = std::find_if(pending_.begin(), pending_.end(),
                                     [](const auto& entry) { return !entry.second.sent; });
      if (next == pending_.end()) return;
      next->second.sent = true;
      next->second.deadline = DeadlineOf(next->second.job);
      message = protocol::Encode(protocol::ToCompiler(next->second.job));
    }
    const tl::expected<void, Trouble> sent = child_->Send(message);
    if (!sent) return Requeue(sent.error().words);
  }
}

bool CompilerPool::WaitForNews() {
  auto deadline = Clock::now() + std::chrono::hours(1);
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    for (const auto& [id, pending] : pending_) {
      if (!pending.sent) return false;
      deadline = std::min(deadline, pending.deadline);
    }
  }
  pollfd waits[] = {{child_->socket(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  ::poll(waits, 2, util::Deadline(deadline).RemainingMillis());
  eventfd_t ignored;
  if (waits[1].revents != 0) ::eventfd_read(wake_.get(), &ignored);
  return waits[0].revents != 0;
}

void CompilerPool::ReadOne() {
  tl::expected<protocol::FromChild, Trouble> message =
      child_->ReceiveAny(util::Deadline::After(kFrameSeconds));
  if (!message) return Requeue(message.error().words);
  auto* reply = std::get_if<protocol::CompileReply>(&*message);
  std::unique_lock lock(mutex_);
  const auto found = reply == nullptr ? pending_.end() : pending_.find(reply->id);
  if (found == pending_.end() || !found->second.sent) {
    lock.unlock();
    child_->Kill();
    return Requeue("sent an answer nobody asked for");
  }
  std::promise<Result<protocol::CompileReply>> promise = std::move(found->second.promise);
  pending_.erase(found);
  // What waits in the compiler's own queue is a step nearer to its turn; its time starts anew.
  for (auto& [id, pending] : pending_) {
    if (pending.sent) pending.deadline = DeadlineOf(pending.job);
  }
  lock.unlock();
  promise.set_value(std::move(*reply));
}

void CompilerPool::ExpireJobs() {
  if (!child_) return;
  const auto now = Clock::now();
  std::unique_lock lock(mutex_);
  const bool hung = std::any_of(pending_.begin(), pending_.end(), [&](const auto& entry) {
    return entry.second.sent && entry.second.deadline <= now;
  });
  lock.unlock();
  if (!hung) return;
  child_->Kill();
  Requeue("did not answer in time and was killed");
}

void CompilerPool::Requeue(const std::string& why) {
  child_.reset();
  std::vector<std::pair<int64_t, std::promise<Result<protocol::CompileReply>>>> lost;
  {
    std::lock_guard lock(mutex_);
    pid_ = -1;
    for (auto entry = pending_.begin(); entry != pending_.end();) {
      Pending& pending = entry->second;
      if (pending.sent && ++pending.failures >= kMaxFailures) {
        lost.emplace_back(entry->first, std::move(pending.promise));
        entry = pending_.erase(entry);
      } else {
        pending.sent = false;
        ++entry;
      }
    }
  }
  for (auto& [id, promise] : lost) {
    protocol::CompileReply reply;
    reply.id = id;
    reply.verdict = Verdict::kInfraError;
    reply.message = "The compiler " + why + ", twice, with this candidate in flight.";
    promise.set_value(std::move(reply));
  }
}

void CompilerPool::FailAll(const Error& error) {
  std::map<int64_t, Pending> all;
  {
    std::lock_guard lock(mutex_);
    all.swap(pending_);
  }
  for (auto& [id, pending] : all) pending.promise.set_value(tl::unexpected(error));
}

}  // namespace cudaagent::pool
