#include "evaluate/loaded_worker.h"

#include <utility>

#include "util/text.h"

namespace cudaagent::evaluate {
namespace {

constexpr int kMaxSetupFailures = 3;

std::string WithLog(std::string message, const std::string& log_path) {
  const std::string tail = pool::LogTail(log_path);
  if (!tail.empty()) message += " The end of the worker's log (" + log_path + "):\n" + tail;
  return message;
}

}  // namespace

LoadedWorker::LoadedWorker(pool::WorkerOptions options, ProblemSpec spec, Timeouts timeouts)
    : worker_(std::move(options)), spec_(std::move(spec)), timeouts_(timeouts) {}

Result<void> LoadedWorker::Launch() { return worker_.Launch(); }

Result<void> LoadedWorker::AwaitHello() {
  Result<protocol::Hello> hello = worker_.AwaitHello();
  if (!hello) return tl::unexpected(hello.error());
  device_ = std::move(hello->device);
  return {};
}

Result<void> LoadedWorker::Wake() {
  if (auto begun = BeginLoad(); !begun) return begun;
  return AwaitHello();
}

Result<void> LoadedWorker::Load() {
  // Awoken, it has the problem already.
  if (worker_.state() == pool::WorkerState::kBusy) return AwaitProblem();
  const Result<void> begun = BeginLoad();
  return begun ? AwaitProblem() : begun;
}

Result<void> LoadedWorker::BeginLoad() {
  had_candidates_ = false;
  if (worker_.state() == pool::WorkerState::kAbsent) {
    if (auto launched = worker_.Launch(); !launched) return launched;
  }
  if (auto sent = worker_.Begin(protocol::LoadProblem{spec_}); !sent) {
    return Fail(ErrorCode::kEnvironment,
                WithLog("The worker " + sent.error().words + " before it was given the problem.",
                        worker_.last_log_path()));
  }
  return {};
}

Result<void> LoadedWorker::AwaitProblem() {
  auto answer = worker_.Finish("load", {{"load", timeouts_.load_s}});
  if (!answer) {
    const pool::Trouble& trouble = answer.error();
    if (trouble.stage == "hello") return Fail(ErrorCode::kEnvironment, trouble.words);
    const std::string what = trouble.kind == pool::Trouble::Kind::kTimedOut
                                 ? "did not load the problem within " +
                                       util::FormatSeconds(trouble.limit_s) + " and was killed."
                                 : trouble.words + " while it loaded the problem.";
    return Fail(ErrorCode::kEnvironment, WithLog("The worker " + what, worker_.last_log_path()));
  }
  if (auto* reply = std::get_if<protocol::ProblemReply>(&*answer)) {
    // Callers hold references into the first one; a reload of the same spec says the same.
    if (!known_) problem_ = std::move(reply->problem);
    known_ = true;
    return {};
  }
  worker_.Retire();
  if (auto* reply = std::get_if<protocol::ErrorReply>(&*answer))
    return tl::unexpected(reply->error);
  return Fail(ErrorCode::kInternal, "The worker answered load_problem with something else.");
}

Result<void> LoadedWorker::EnsureReady() {
  Error last;
  for (int failures = 0; failures < kMaxSetupFailures; ++failures) {
    if (worker_.Look() == pool::WorkerState::kIdle) return {};
    // Busy: it was given the problem when the last one ended.
    Result<void> loaded;
    if (worker_.state() != pool::WorkerState::kBusy) loaded = BeginLoad();
    if (loaded) loaded = AwaitProblem();
    if (loaded) return {};
    last = loaded.error();
  }
  return Fail(ErrorCode::kEnvironment,
              "The worker could not be started again, three times in a row. The last time: " +
                  last.message);
}

tl::expected<protocol::FromChild, pool::Trouble> LoadedWorker::Run(
    const protocol::ToWorker& job, const std::string& stage, const pool::StageLimits& limits) {
  had_candidates_ = had_candidates_ || std::holds_alternative<protocol::EvaluateJob>(job);
  if (auto sent = worker_.Begin(job); !sent) {
    sent.error().stage = stage;
    return tl::unexpected(sent.error());
  }
  return worker_.Finish(stage, limits);
}

void LoadedWorker::Recover(bool want_spare) {
  if (worker_.Look() == pool::WorkerState::kAbsent) {
    (void)BeginLoad();
  } else if (want_spare && worker_.state() == pool::WorkerState::kIdle) {
    worker_.EnsureSpare();
  }
}

void LoadedWorker::Retire() { worker_.Retire(); }

}  // namespace cudaagent::evaluate
