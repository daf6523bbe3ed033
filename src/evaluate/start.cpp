// How an evaluator comes to life: device, programs, lock, problem, baseline.
#include <unistd.h>

#include <algorithm>

#include "evaluate/baseline_cache.h"
#include "evaluate/pool_evaluator.h"
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
  if (config_.baseline != "compile" && config_.baseline != "eager") {
    return Fail(ErrorCode::kUsage,
                "There is no baseline \"" + config_.baseline + "\"; there are compile and eager.");
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
  if (auto launched = worker_->Launch(); !launched) return launched;
  if (auto hello = worker_->AwaitHello(); !hello) {
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
  if (device_.gpu && !uuid.empty()) {
    const bool times = with_compiler && !config_.options.check_only;
    Result<DeviceLock> lock = DeviceLock::Take(
        util::LockDir(), uuid, times ? DeviceLock::Kind::kExclusive : DeviceLock::Kind::kShared,
        kLockWaitSeconds, config_.progress);
    if (!lock) return tl::unexpected(lock.error());
    lock_ = std::move(*lock);
  }
  Say("loading the problem");
  return worker_->Load();
}

Result<void> PoolEvaluator::PrepareBaseline() {
  if (config_.baseline == "eager" || config_.options.check_only) return {};
  if (!device_.gpu) {
    baseline_.note = "torch.compile is not timed on the CPU device: eager decides";
    return {};
  }
  const DeviceStamp& device = worker_->device();
  const BaselineKey key{problem().hash,
                        device.uuid,
                        device.torch_version,
                        device.driver_version,
                        std::string(protocol::NameOf(config_.spec.precision)),
                        config_.options.warm_l2};
  const BaselineCache cache(config_.cache_dir.empty() ? "" : config_.cache_dir + "/baselines");
  std::optional<protocol::BaselineReply> reply = cache.Find(key);
  if (reply) {
    Say("torch.compile's time is known from an earlier run");
  } else {
    Say("timing torch.compile (slow the first time)");
    bool keep = false;
    Result<protocol::BaselineReply> measured = MeasureBaseline(&keep);
    if (!measured) return tl::unexpected(measured.error());
    if (keep) cache.Keep(key, *measured);
    reply = std::move(*measured);
  }
  if (reply->ok) {
    baseline_.baseline = Baseline{reply->eager, reply->compiled};
    baseline_.decides = "compile";
  } else {
    baseline_.note = reply->message + ": eager decides";
    Say(baseline_.note);
  }
  return {};
}

Result<protocol::BaselineReply> PoolEvaluator::MeasureBaseline(bool* keep) {
  protocol::BaselineReply failed;
  auto answer = worker_->Run(protocol::BaselineJob{config_.options}, "baseline",
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
