// How an evaluator comes to life: device, programs, lock, problem, baseline.
#include <unistd.h>

#include <algorithm>

#include "evaluate/ceilings_cache.h"
#include "evaluate/keys.h"
#include "evaluate/pool_evaluator.h"
#include "evaluate/reply_cache.h"
#include "pool/environment.h"
#include "protocol/names.h"
#include "reward/reward.h"
#include "util/paths.h"
#include "util/text.h"

namespace cudaagent::evaluate {
namespace {

constexpr double kLockWaitSeconds = 600;

Result<std::string> FindProgram(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  if (::access(path.c_str(), X_OK) == 0) return path;
  return Fail(ErrorCode::kEnvironment,
              path +
                  " is missing. The three programs belong in one folder: build and install them "
                  "together (scripts/run does).");
}

}  // namespace

Result<std::unique_ptr<Evaluator>> StartEvaluator(Config config) {
  auto evaluator = std::make_unique<PoolEvaluator>(std::move(config));
  if (auto started = evaluator->Start(true); !started) return tl::unexpected(started.error());
  if (auto ready = evaluator->PrepareBaseline(); !ready) return tl::unexpected(ready.error());
  if (auto ready = evaluator->PrepareCeilings(); !ready) return tl::unexpected(ready.error());
  return evaluator;
}

Result<ProblemInfo> LoadProblemInfo(Config config) {
  PoolEvaluator evaluator(std::move(config));
  if (auto started = evaluator.Start(false); !started) return tl::unexpected(started.error());
  return evaluator.problem();
}

Result<void> PoolEvaluator::CheckConfig() const {
  const std::vector<std::string>& rewards = reward::Names();
  if (std::find(rewards.begin(), rewards.end(), config_.reward) == rewards.end()) {
    return Fail(ErrorCode::kUsage, "There is no reward \"" + config_.reward + "\"; there are " +
                                       util::Join(rewards, ", ") + "." +
                                       util::DidYouMean(config_.reward, rewards));
  }
  const std::vector<std::string> baselines = {"compile", "eager", "best"};
  if (std::find(baselines.begin(), baselines.end(), config_.baseline) == baselines.end()) {
    return Fail(ErrorCode::kUsage, "There is no baseline \"" + config_.baseline + "\"; there are " +
                                       util::Join(baselines, ", ") + ".");
  }
  return {};
}

Result<void> PoolEvaluator::Start(bool with_compiler) {
  if (auto checked = CheckConfig(); !checked) return checked;
  Result<DeviceChoice> device = ChooseDevice(config_.device, machine_);
  if (!device) return tl::unexpected(device.error());
  device_ = *device;
  Say(device_.why);

  if (config_.log_dir.empty()) {
    Result<util::TempDir> logs = util::TempDir::Create("cudaagent-logs");
    if (!logs) return tl::unexpected(logs.error());
    own_logs_ = std::move(*logs);
    config_.log_dir = own_logs_.path();
  }
  for (const std::string& folder : {config_.log_dir, config_.cache_dir}) {
    if (folder.empty()) continue;
    if (auto made = util::MakeDirs(folder); !made) return made;
  }

  pool::WorkerOptions worker;
  Result<std::string> program = FindProgram(config_.program_dir, "cudaagent-worker");
  if (!program) return tl::unexpected(program.error());
  worker.program = *program;
  worker.device = device_.device;
  worker.model_gpu = config_.options.model_gpu;
  worker.log_dir = config_.log_dir;
  worker.environment = pool::ChildEnvironment();
  worker.hello_s = config_.timeouts.hello_s;
  worker_ = std::make_unique<LoadedWorker>(worker, config_.spec, config_.timeouts);

  Say(with_compiler ? "starting the compiler and the worker" : "starting the worker");
  if (with_compiler) {
    pool::CompilerOptions compiler;
    program = FindProgram(config_.program_dir, "cudaagent-compile");
    if (!program) return tl::unexpected(program.error());
    compiler.program = *program;
    compiler.cache_dir =
        config_.cache_dir.empty() ? config_.log_dir + "/cubins" : config_.cache_dir + "/cubins";
    compiler.log_dir = config_.log_dir;
    compiler.environment = worker.environment;
    compiler.hello_s = config_.timeouts.hello_s;
    compiler_ = std::make_unique<pool::CompilerPool>(std::move(compiler));
  }
  // The device's lock comes before the problem is loaded. Its name is the worker's to say, but a
  // worker that waits for its turn is woken by the problem itself: then the caller has to know it.
  std::string known_uuid;
  bool prepared = false;
  if (config_.await_turn) {
    worker_->Prepare();
    known_uuid = config_.await_turn();
    prepared = !device_.gpu || !known_uuid.empty();
    if (!prepared) worker_->Unprepare();
  }
  if (device_.gpu && prepared) {
    if (auto locked = LockDevice(known_uuid, with_compiler); !locked) return locked;
  }
  Result<void> hello;
  if (prepared) {
    hello = worker_->Wake();
  } else {
    if (auto launched = worker_->Launch(); !launched) return launched;
    hello = worker_->AwaitHello();
  }
  if (!hello) {
    if (device_.gpu && config_.device == "auto") {
      hello.error().message += "\nUse --device cpu to work without the GPU.";
    }
    return hello;
  }
  if (with_compiler) {
    const Result<protocol::Hello> hello = compiler_->AwaitReady();
    if (!hello) return tl::unexpected(hello.error());
    nvrtc_version_ = hello->nvrtc_version;
  }

  const std::string& uuid = worker_->device().uuid;
  if (device_.gpu && !uuid.empty() && uuid != known_uuid) {
    if (auto locked = LockDevice(uuid, with_compiler); !locked) return locked;
  }
  Say("loading the problem");
  return worker_->Load();
}

Result<void> PoolEvaluator::LockDevice(const std::string& uuid, bool with_compiler) {
  const bool times = with_compiler && !config_.options.check_only;
  Result<DeviceLock> lock = DeviceLock::Take(
      util::LockDir(), uuid, times ? DeviceLock::Kind::kExclusive : DeviceLock::Kind::kShared,
      kLockWaitSeconds, config_.progress);
  if (!lock) return tl::unexpected(lock.error());
  lock_ = std::move(*lock);
  return {};
}

Result<void> PoolEvaluator::PrepareBaseline() {
  const bool wanted = config_.baseline != "eager" || config_.all_baselines;
  if (!wanted || config_.options.check_only) return {};
  if (!device_.gpu) {
    baseline_.note = "torch.compile is not timed on the CPU device: eager decides";
    return {};
  }
  std::vector<std::string> modes = {"default"};
  if (config_.all_baselines) modes.insert(modes.end(), {"reduce-overhead", "max-autotune"});
  const std::string key = BaselineKey(problem().hash, worker_->device(), config_.spec.precision,
                                      config_.options.warm_l2, modes);
  const ReplyCache cache(config_.cache_dir.empty() ? "" : config_.cache_dir + "/baselines");
  auto reply = cache.Find<protocol::BaselineReply>(key);
  if (reply) {
    Say("torch.compile's time is known from an earlier run");
  } else {
    Say("timing torch.compile (slow the first time)");
    bool keep = false;
    Result<protocol::BaselineReply> measured = MeasureBaseline(modes, &keep);
    if (!measured) return tl::unexpected(measured.error());
    if (keep) cache.Keep(key, *measured);
    reply = std::move(*measured);
  }
  if (!reply->ok) {
    baseline_.note = reply->message + ": eager decides";
    Say(baseline_.note);
    return {};
  }
  for (const auto& [mode, why] : reply->failures) {
    Say("torch.compile in mode " + mode + " failed (" + util::SanitiseLog(util::Trim(why), 300) +
        ")");
  }
  baseline_.baseline = Baseline{reply->eager, reply->compiled};
  Decide(config_.baseline, &baseline_);
  return {};
}

Result<void> PoolEvaluator::PrepareCeilings() {
  if (!device_.gpu || config_.options.check_only) return {};
  ceilings_ = FindCeilings(config_.cache_dir, worker_->device());
  if (!ceilings_) {
    Say("measuring the device's ceilings (once per device; doctor --calibrate repeats it)");
    auto answer = worker_->Run(protocol::CalibrateJob{}, "calibrate",
                               {{"calibrate", config_.timeouts.baseline_s}});
    const auto* reply = answer ? std::get_if<protocol::CalibrationReply>(&*answer) : nullptr;
    if (reply == nullptr) {
      Say("the ceilings could not be measured: no speed of light is told");
      return worker_->EnsureReady();
    }
    ceilings_ = reply->ceilings;
    KeepCeilings(config_.cache_dir, worker_->device(), *ceilings_);
  }
  if (auto graph = graph::ParseGraph(problem().graph_json)) {
    work_ = graph::EstimateWork(*graph, problem());
  }
  return {};
}

Result<protocol::BaselineReply> PoolEvaluator::MeasureBaseline(
    const std::vector<std::string>& modes, bool* keep) {
  protocol::BaselineReply failed;
  auto answer = worker_->Run(protocol::BaselineJob{config_.options, modes}, "baseline",
                             {{"baseline", config_.timeouts.baseline_s}});
  if (!answer) {
    failed.message =
        answer.error().kind == pool::Trouble::Kind::kTimedOut
            ? "torch.compile took longer than " + util::FormatSeconds(answer.error().limit_s)
            : "the worker " + answer.error().words + " in torch.compile";
    if (auto ready = worker_->EnsureReady(); !ready) return tl::unexpected(ready.error());
    return failed;
  }
  if (auto* reply = std::get_if<protocol::BaselineReply>(&*answer)) {
    *keep = true;
    if (!reply->ok) {
      const std::string why = util::SanitiseLog(util::Trim(reply->message), 300);
      reply->message = "torch.compile failed" + (why.empty() ? "" : " (" + why + ")");
    }
    return std::move(*reply);
  }
  if (auto* reply = std::get_if<protocol::ErrorReply>(&*answer)) {
    failed.message = "torch.compile could not be timed (" + reply->error.message + ")";
    return failed;
  }
  worker_->Retire();
  return Fail(ErrorCode::kInternal, "The worker answered a baseline job with something else.");
}

}  // namespace cudaagent::evaluate
