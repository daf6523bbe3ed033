#include "evaluate/pool_evaluator.h"

#include <algorithm>
#include <utility>

#include "candidate/validate.h"
#include "evaluate/roofline.h"
#include "evaluate/tuner.h"
#include "protocol/names.h"
#include "reward/reward.h"
#include "util/hash.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::evaluate {
namespace {

constexpr int kMaxInfraErrors = 3;

// Other inputs than the first judgement's, and still repeatable; 0 stays 0, "from the system".
uint64_t ConfirmationSeed(uint64_t seed) {
  if (seed == 0) return 0;
  const uint64_t other = ~seed;
  return other == 0 ? seed - 1 : other;
}

void Blame(const Fault& fault, const std::string& stage, Evaluation* evaluation) {
  evaluation->verdict = fault.verdict;
  evaluation->message = fault.message;
  evaluation->stage = stage;
}

Checked<void> CheckSteps(const std::vector<candidate::Step>& steps,
                         const candidate::ProblemScope& scope,
                         const std::map<std::string, std::string>& demangled) {
  for (const candidate::Step& step : steps) {
    if (const auto* repeat = std::get_if<candidate::RepeatStep>(&step.what)) {
      if (auto checked = CheckSteps(repeat->steps, scope, demangled); !checked) return checked;
    }
    const auto* kernel = std::get_if<candidate::KernelStep>(&step.what);
    if (kernel == nullptr) continue;
    // A repeat's counter may be part of the instance's name; every instance of the kernel is then
    // one this step may launch.
    const Checked<std::string> instance = candidate::KernelInstance(kernel->kernel, scope);
    const std::string family = kernel->kernel.base + "<";
    for (const auto& [name, signature] : demangled) {
      const bool ours = instance ? name == *instance : util::StartsWith(name, family);
      if (!ours) continue;
      if (auto checked = candidate::CheckSignature(*kernel, signature); !checked) {
        return cudaagent::Blame(checked.error().verdict,
                                step.where + ": " + checked.error().message);
      }
    }
  }
  return {};
}

}  // namespace

Checked<void> CheckSignatures(const candidate::Plan& plan, const ProblemInfo& problem,
                              const std::map<std::string, std::string>& demangled) {
  const Checked<candidate::ProblemScope> scope = candidate::PlanScope(plan, problem);
  if (!scope) return tl::unexpected(scope.error());
  if (auto checked = CheckSteps(plan.steps, *scope, demangled); !checked) return checked;
  return CheckSteps(plan.prepare, *scope, demangled);
}

void PoolEvaluator::Say(const std::string& line) const {
  if (config_.progress) config_.progress(line);
}

Result<Evaluation> PoolEvaluator::Evaluate(const Candidate& candidate) {
  return EvaluateOn(Occasion::kFirst, candidate);
}

Result<Evaluation> PoolEvaluator::Confirm(const Candidate& candidate) {
  // Nothing that an earlier candidate left in the device's memory or in the process is there.
  worker_->Retire();
  return EvaluateOn(Occasion::kConfirmation, candidate);
}

// What has no compile of its own ahead is judged as ever: a faulty plan, and one with tune values,
// whose variants are compiled side by side anyway.
void PoolEvaluator::CompileAhead(const Candidate& candidate) {
  if (candidate.fault) return;
  const auto parsed = candidate::ParseCandidate(candidate.source);
  if (!parsed || !ToTune(parsed->plan).values.empty()) return;
  if (!candidate::ValidatePlan(*parsed, problem())) return;
  const auto kernels = candidate::KernelInstances(*parsed, problem());
  if (!kernels || kernels->empty()) return;
  const std::string hash = util::Sha256Hex(candidate.source);
  if (ahead_.contains(hash)) return;
  auto reply = BeginCompile(*parsed, *kernels, hash);
  ahead_.emplace(hash, Ahead{*kernels, std::move(reply)});
}

std::future<Result<protocol::CompileReply>> PoolEvaluator::BeginCompile(
    const candidate::ParsedCandidate& parsed, std::vector<std::string> kernels,
    const std::string& candidate_hash) {
  if (auto ahead = ahead_.extract(candidate_hash); !ahead.empty()) {
    if (ahead.mapped().kernels == kernels) return std::move(ahead.mapped().reply);
  }
  protocol::CompileJob compile = CompileJobOf(parsed);
  compile.kernels = std::move(kernels);
  return compiler_->Submit(std::move(compile));
}

Result<Evaluation> PoolEvaluator::EvaluateOn(Occasion occasion, const Candidate& candidate) {
  const util::Stopwatch total;
  Evaluation evaluation;
  evaluation.candidate_hash = util::Sha256Hex(candidate.source);
  evaluation.device = worker_->device();
  evaluation.protocol.tier = config_.options.tier;
  evaluation.protocol.precision = protocol::NameOf(config_.spec.precision);
  evaluation.protocol.mode = protocol::NameOf(config_.spec.mode);
  const Result<bool> judged = Judge(occasion, candidate, &evaluation);
  if (!judged) return tl::unexpected(judged.error());

  evaluation.problem_hash = problem().hash;
  if (evaluation.device.nvrtc_version.empty()) evaluation.device.nvrtc_version = nvrtc_version_;
  evaluation.date = util::NowIso8601();
  Score(baseline_, &evaluation);
  if (ceilings_ && work_)
    AddSol(*work_, PeakFlops(*ceilings_, config_.spec), ceilings_->bytes_per_s, &evaluation);
  evaluation.reward_name = config_.reward;
  evaluation.reward = reward::Compute(config_.reward, evaluation);
  evaluation.seconds["total"] = total.Seconds();
  // The caller now thinks about its next candidate: time to have a worker ready for it.
  worker_->Recover(device_.gpu);
  return evaluation;
}

Result<bool> PoolEvaluator::Judge(Occasion occasion, const Candidate& candidate,
                                  Evaluation* evaluation) {
  if (candidate.fault) {
    Blame(*candidate.fault, "propose", evaluation);
    return false;
  }
  const util::Stopwatch parsing;
  auto parsed = candidate::ParseCandidate(candidate.source);
  if (parsed && !config_.options.allow_prepare && !parsed->plan.prepare.empty()) {
    parsed =
        cudaagent::Blame(Verdict::kBadCandidate,
                         "prepare: this run forbids prepare steps (--no-prepare); do the work in "
                         "\"steps\".");
  }
  if (parsed && occasion == Occasion::kFirst) {
    candidate::Combinations combinations = ToTune(parsed->plan);
    if (!combinations.values.empty()) {
      return Tuner(*this, candidate, std::move(*parsed), std::move(combinations)).Run(evaluation);
    }
  }
  const Checked<void> valid =
      parsed ? candidate::ValidatePlan(*parsed, problem()) : tl::unexpected(parsed.error());
  evaluation->seconds["parse"] = parsing.Seconds();
  if (!valid) {
    Blame(valid.error(), "parse", evaluation);
    return false;
  }
  protocol::EvaluateJob job;
  job.source = candidate.source;
  job.options = config_.options;
  if (occasion == Occasion::kConfirmation) {
    job.options.energy = true;
    if (baseline_.decides == "compile") job.compile_mode = baseline_.mode;
    job.options.seed = ConfirmationSeed(job.options.seed);
  }
  const Result<bool> compiled = Compile(*parsed, &job, evaluation);
  if (!compiled || !*compiled) return compiled;
  if (auto run = RunOnDevice(job, Limits(), /*confirm=*/true, evaluation); !run) {
    return tl::unexpected(run.error());
  }
  return evaluation->verdict == Verdict::kOk;
}

Result<bool> PoolEvaluator::Compile(const candidate::ParsedCandidate& parsed,
                                    protocol::EvaluateJob* job, Evaluation* evaluation) {
  const Checked<std::vector<std::string>> kernels = candidate::KernelInstances(parsed, problem());
  if (!kernels) {
    Blame(kernels.error(), "parse", evaluation);
    return false;
  }
  if (kernels->empty()) return true;
  const util::Stopwatch compiling;  // what this evaluation waits for
  Result<protocol::CompileReply> reply =
      BeginCompile(parsed, *kernels, evaluation->candidate_hash).get();
  if (!reply) return tl::unexpected(reply.error());
  evaluation->seconds["compile"] = compiling.Seconds();
  evaluation->compile = std::move(reply->report);
  evaluation->compile.attempted = true;
  if (!reply->ok) {
    if (reply->verdict == Verdict::kInfraError) {
      evaluation->stage = "compile";
      if (auto go_on = CountInfraError(evaluation, reply->message); !go_on) {
        return tl::unexpected(go_on.error());
      }
      return false;
    }
    Blame(Fault{reply->verdict, reply->message}, "compile", evaluation);
    return false;
  }
  if (auto fits = CheckSignatures(parsed.plan, problem(), reply->demangled); !fits) {
    Blame(fits.error(), "compile", evaluation);
    return false;
  }
  job->cubin_path = evaluation->compile.cubin_path;
  job->ptx_path = evaluation->compile.ptx_path;
  job->lowered = std::move(reply->lowered);
  job->demangled = std::move(reply->demangled);
  return true;
}

protocol::CompileJob PoolEvaluator::CompileJobOf(const candidate::ParsedCandidate& parsed) const {
  protocol::CompileJob compile;
  compile.source = parsed.code;
  compile.arch = worker_->device().arch;
  compile.standard = parsed.plan.compile.standard;
  compile.fast_math = parsed.plan.compile.fast_math;
  compile.max_registers = parsed.plan.compile.max_registers;
  compile.timeout_s = config_.timeouts.compile_s;
  return compile;
}

pool::StageLimits PoolEvaluator::Limits() const {
  // The limit that ends timing politely is the worker's; the one here ends a hang.
  return {{"baseline", config_.timeouts.baseline_s},
          {"load", config_.timeouts.load_s},
          {"check", config_.timeouts.check_s},
          {"time", std::max(config_.timeouts.time_s, 2 * config_.options.time_limit_s + 20)}};
}

Result<void> PoolEvaluator::RunOnDevice(const protocol::EvaluateJob& job,
                                        const pool::StageLimits& limits, bool confirm,
                                        Evaluation* evaluation) {
  for (bool confirming = false;; confirming = true) {
    const util::Stopwatch waiting;
    if (auto ready = worker_->EnsureReady(); !ready) return ready;
    evaluation->seconds["worker_wait"] += waiting.Seconds();
    const bool served = worker_->served();
    const bool fresh = !worker_->had_candidates();
    auto answer = worker_->Run(job, "load", limits);
    if (answer) {
      auto taken = TakeAnswer(std::move(*answer), evaluation);
      evaluation->protocol.fresh_worker = fresh;
      return taken;
    }
    const bool may_be_innocent =
        confirm && served && answer.error().kind != pool::Trouble::Kind::kTimedOut;
    if (confirming || !may_be_innocent) {
      BlameTrouble(answer.error(), confirming, served, evaluation);
      return {};
    }
    Say("the worker " + answer.error().words + " in stage " + answer.error().stage +
        "; trying the candidate once more in a fresh one");
  }
}

void PoolEvaluator::BlameTrouble(const pool::Trouble& trouble, bool confirmed, bool served,
                                 Evaluation* evaluation) {
  infra_errors_ = 0;
  const std::string in_stage = " in stage " + trouble.stage;
  if (trouble.kind == pool::Trouble::Kind::kTimedOut) {
    Blame(Fault{Verdict::kTimedOut, "The candidate did not finish within " +
                                        util::FormatSeconds(trouble.limit_s) + in_stage +
                                        " and was killed."},
          trouble.stage, evaluation);
    return;
  }
  const std::string ended = trouble.words + in_stage;
  Blame(Fault{Verdict::kWorkerCrashed,
              confirmed
                  ? "Two workers ended while they ran this candidate; the second, a fresh one, " +
                        ended + "."
                  : std::string(served ? "The worker " : "A fresh worker ") + ended +
                        " while it ran this candidate."},
        trouble.stage, evaluation);
}

Result<void> PoolEvaluator::TakeAnswer(protocol::FromChild answer, Evaluation* evaluation) {
  if (auto* error = std::get_if<protocol::ErrorReply>(&answer)) {
    evaluation->stage = "check";
    return CountInfraError(evaluation, error->error.message);
  }
  auto* reply = std::get_if<protocol::EvaluationReply>(&answer);
  if (reply == nullptr) {
    worker_->Retire();
    evaluation->stage = "check";
    return CountInfraError(evaluation, "The worker answered an evaluation with something else.");
  }
  // What the worker measured, over what the driver knows.
  Evaluation merged = std::move(reply->evaluation);
  merged.candidate_hash = evaluation->candidate_hash;
  if (merged.device.kind.empty()) merged.device = evaluation->device;
  merged.protocol.tier = evaluation->protocol.tier;
  merged.protocol.precision = evaluation->protocol.precision;
  merged.protocol.mode = evaluation->protocol.mode;
  // A GPU knows its kernels' resources better than the cubin's tables do; the CPU device does not.
  std::vector<KernelResources> resources = std::move(merged.compile.kernels);
  merged.compile = std::move(evaluation->compile);
  if (!resources.empty() && merged.device.kind == "gpu")
    merged.compile.kernels = std::move(resources);
  merged.seconds.insert(evaluation->seconds.begin(), evaluation->seconds.end());
  *evaluation = std::move(merged);
  if (reply->poisoned) worker_->Retire();
  if (evaluation->verdict == Verdict::kInfraError) {
    return CountInfraError(evaluation, evaluation->message);
  }
  infra_errors_ = 0;
  return {};
}

Result<void> PoolEvaluator::CountInfraError(Evaluation* evaluation, std::string message) {
  evaluation->verdict = Verdict::kInfraError;
  evaluation->message = std::move(message);
  if (++infra_errors_ < kMaxInfraErrors) return {};
  return Fail(ErrorCode::kEnvironment,
              "Three evaluations in a row failed through no fault of a "
              "candidate. The last one: " +
                  evaluation->message);
}

}  // namespace cudaagent::evaluate
