#include "pool/worker.h"

#include <utility>

namespace cudaagent::pool {

Worker::Worker(WorkerOptions options) : options_(std::move(options)) {}

Worker::~Worker() {
  if (spare_) spare_->Kill();
  if (!child_) return;
  // A polite end is for one that listens.
  if (state_ == WorkerState::kIdle) {
    child_->Stop();
  } else {
    child_->Kill();
  }
}

Result<void> Worker::Launch() {
  if (quarantined_) {
    return Fail(
        ErrorCode::kEnvironment,
        "A worker on " + options_.device +
            " could not be killed, so nothing more is run on this device. Look for hung "
            "processes (nvidia-smi, dmesg); a reset of the device or a reboot may be needed.");
  }
  child_.reset();
  answers_ = 0;
  greeted_ = false;
  if (has_spare()) {
    child_ = std::move(spare_);
  } else {
    spare_.reset();
    Result<std::unique_ptr<Child>> child = Spawn(false);
    if (!child) return tl::unexpected(child.error());
    child_ = std::move(*child);
  }
  log_path_ = child_->log_path();
  state_ = WorkerState::kStarting;
  return {};
}

Result<protocol::Hello> Worker::AwaitHello() {
  Result<protocol::Hello> hello = child_->AwaitHello(util::Deadline::After(options_.hello_s));
  if (hello) {
    greeted_ = true;
    if (state_ == WorkerState::kStarting) state_ = WorkerState::kIdle;
  } else {
    Bury();
  }
  return hello;
}

tl::expected<void, Trouble> Worker::Begin(const protocol::ToWorker& job) {
  tl::expected<void, Trouble> sent = child_->Send(protocol::Encode(job));
  if (sent) {
    state_ = WorkerState::kBusy;
  } else {
    Bury();
  }
  return sent;
}

tl::expected<protocol::FromChild, Trouble> Worker::Finish(const std::string& stage,
                                                          const StageLimits& limits) {
  if (!greeted_) {
    const Result<protocol::Hello> hello =
        child_->AwaitHello(util::Deadline::After(options_.hello_s));
    if (!hello) {
      Bury();
      return tl::unexpected(
          Trouble{Trouble::Kind::kDied, "hello", options_.hello_s, hello.error().message});
    }
    greeted_ = true;
  }
  tl::expected<protocol::FromChild, Trouble> answer = child_->Receive(stage, limits);
  if (answer) {
    ++answers_;
    state_ = WorkerState::kIdle;
  } else {
    Bury();
  }
  return answer;
}

WorkerState Worker::Look() {
  if (state_ == WorkerState::kIdle && !child_->alive()) Bury();
  return state_;
}

void Worker::Retire() {
  if (child_) child_->Kill();
  Bury();
}

void Worker::EnsureSpare() {
  if (quarantined_ || has_spare()) return;
  spare_.reset();
  Result<std::unique_ptr<Child>> spare = Spawn(true);
  if (spare) spare_ = std::move(*spare);
}

void Worker::DropSpare() { spare_.reset(); }

bool Worker::has_spare() { return spare_ && spare_->alive(); }

Result<std::unique_ptr<Child>> Worker::Spawn(bool spare) {
  ChildOptions child;
  child.program = options_.program;
  child.kind = "worker";
  child.args = {"--device", options_.device, "--model-gpu", options_.model_gpu};
  if (spare) child.args.push_back("--spare");
  child.environment = options_.environment;
  child.log_path = options_.log_dir + "/worker-" + std::to_string(++processes_) + ".log";
  return Child::Spawn(std::move(child));
}

void Worker::Bury() {
  state_ = WorkerState::kAbsent;
  if (child_ && child_->unkillable()) quarantined_ = true;
  child_.reset();
}

}  // namespace cudaagent::pool
