#include "evaluate/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "candidate/validate.h"
#include "util/hash.h"
#include "util/text.h"

namespace cudaagent::evaluate {
namespace {

// Iterations of the first, shortest timing. Each halving doubles them, so each costs about the
// same.
constexpr int kFirstIterations = 8;
// A variant that is to win has no business being slower than this; it ends hangs early.
constexpr double kPatience = 10;
constexpr double kPatienceSeconds = 5;
// A short timing's share of a slow kernel.
constexpr double kShortTimingSeconds = 2;
constexpr int kMaxFinalists = 3;
constexpr size_t kMaxMessageBytes = 300;

}  // namespace

candidate::Combinations PoolEvaluator::ToTune(const candidate::Plan& plan) const {
  const TuneOptions& tune = config_.tune;
  if (plan.tune.empty() || tune.mode == TuneMode::kNever || config_.options.check_only) return {};
  if (tune.mode == TuneMode::kUntuned && !plan.tuned.empty()) return {};
  candidate::Combinations all = candidate::TuneCombinations(
      plan, problem(), static_cast<size_t>(std::max(tune.max_variants, 1)));
  const bool nothing_else = all.values.size() == 1 && all.left_out == 0 && all.all_seen &&
                            all.values.front() == plan.DefaultTune();
  return nothing_else ? candidate::Combinations{} : all;
}

PoolEvaluator::Tuner::Tuner(PoolEvaluator& owner, const Candidate& candidate,
                            candidate::ParsedCandidate parsed, candidate::Combinations combinations)
    : owner_(owner),
      candidate_(candidate),
      parsed_(std::move(parsed)),
      left_out_(combinations.left_out),
      left_out_is_all_(combinations.all_seen),
      builds_(*owner.compiler_, VariantCompileJob()),
      deadline_(util::Deadline::Never()) {
  for (candidate::TuneValues& values : combinations.values) {
    variants_.emplace_back().values = std::move(values);
  }
}

protocol::CompileJob PoolEvaluator::Tuner::VariantCompileJob() const {
  protocol::CompileJob job = owner_.CompileJobOf(parsed_);
  job.timeout_s = std::min(job.timeout_s, owner_.config_.tune.limit_s);
  return job;
}

Result<bool> PoolEvaluator::Tuner::Run(Evaluation* evaluation) {
  base_ = *evaluation;
  for (Variant& variant : variants_) Prepare(&variant);
  base_.seconds["parse"] = watch_.Seconds();
  const auto usable = [](const Variant& v) { return v.evaluation.verdict == Verdict::kOk; };
  if (std::none_of(variants_.begin(), variants_.end(), usable)) {
    // Nothing that other values would mend.
    *evaluation = variants_.front().evaluation;
    return false;
  }
  owner_.Say("tuning: " + std::to_string(variants_.size()) + " combinations");
  const Result<bool> go_on = BuildFirst();
  if (!go_on) return tl::unexpected(go_on.error());
  if (!*go_on) {
    *evaluation = variants_.front().evaluation;
    return false;
  }
  if (auto done = VerifyAll(); !done) return tl::unexpected(done.error());
  if (auto done = Halve(); !done) return tl::unexpected(done.error());
  return JudgeBest(evaluation);
}

// Plan, instances and text of one variant; a verdict kOk means it can be compiled.
void PoolEvaluator::Tuner::Prepare(Variant* variant) {
  parsed_.plan.tuned = variant->values;
  variant->evaluation = base_;
  variant->tried = true;
  if (auto valid = candidate::ValidatePlan(parsed_, owner_.problem()); !valid) {
    return Fail(valid.error(), "parse", variant);
  }
  auto kernels = candidate::KernelInstances(parsed_, owner_.problem());
  if (!kernels) return Fail(kernels.error(), "parse", variant);
  auto source = candidate::WithTuned(candidate_.source, variant->values);
  if (!source) return Fail(source.error(), "parse", variant);
  variant->tried = false;
  variant->kernels = std::move(*kernels);
  variant->source = std::move(*source);
  variant->evaluation.verdict = Verdict::kOk;
  variant->evaluation.candidate_hash = util::Sha256Hex(variant->source);
}

// The first variant alone, so that the common case is no slower than without tuning and shares its
// place in the cache; the others start once it is known that they may compile. False: the code
// itself is at fault, and the first variant says how.
Result<bool> PoolEvaluator::Tuner::BuildFirst() {
  Variant& first = variants_.front();
  if (!first.tried) {
    Builds builds(*owner_.compiler_, owner_.CompileJobOf(parsed_));
    builds.Start({first.kernels});
    const util::Stopwatch compiling;
    if (auto done = builds.Wait(util::Deadline::Never()); !done) {
      return tl::unexpected(done.error());
    }
    base_.seconds["compile"] = compiling.Seconds();
    first.evaluation.seconds = base_.seconds;
    TakeBuild(builds.Take(0), &first);
    if (first.evaluation.verdict == Verdict::kInfraError) {
      auto counted = owner_.CountInfraError(&first.evaluation, first.evaluation.message);
      if (!counted) return tl::unexpected(counted.error());
      return false;
    }
    if (!first.built) {
      const Result<bool> alone = CodeCompilesAlone();
      if (!alone || !*alone) return alone;
    }
  }
  std::vector<std::vector<std::string>> kernels;
  for (size_t i = 1; i < variants_.size(); ++i) {
    kernels.push_back(variants_[i].tried ? std::vector<std::string>{} : variants_[i].kernels);
  }
  builds_.Start(std::move(kernels));
  return true;
}

// Whether the file compiles as long as nothing is made of its templates.
Result<bool> PoolEvaluator::Tuner::CodeCompilesAlone() {
  auto reply = owner_.compiler_->Submit(owner_.CompileJobOf(parsed_)).get();
  if (!reply) return tl::unexpected(reply.error());
  return reply->ok;
}

void PoolEvaluator::Tuner::TakeBuild(std::optional<Checked<Build>> build, Variant* variant) {
  if (variant->tried || !build) return;
  variant->tried = true;
  if (!*build) {
    variant->evaluation.compile.attempted = true;
    return Fail(build->error(), "compile", variant);
  }
  parsed_.plan.tuned = variant->values;
  variant->evaluation.compile = std::move((*build)->report);
  if (auto fits = CheckSignatures(parsed_.plan, owner_.problem(), (*build)->demangled); !fits) {
    return Fail(fits.error(), "compile", variant);
  }
  variant->job.source = variant->source;
  variant->job.cubin_path = variant->evaluation.compile.cubin_path;
  variant->job.ptx_path = variant->evaluation.compile.ptx_path;
  variant->job.lowered = std::move((*build)->lowered);
  variant->job.demangled = std::move((*build)->demangled);
  variant->job.options = owner_.config_.options;
  variant->built = true;
  variant->tried = false;  // not on the device yet
}

Result<void> PoolEvaluator::Tuner::VerifyAll() {
  Variant& first = variants_.front();
  if (first.built) {
    if (auto done = Verify(&first, owner_.Limits(), /*confirm=*/true); !done) return done;
    if (first.evaluation.verdict == Verdict::kOk) {
      first_s_ = 0;
      for (const char* stage : {"load", "check", "time"}) {
        first_s_ += first.evaluation.seconds[stage];
      }
    }
  }
  deadline_ = util::Deadline::After(owner_.config_.tune.limit_s);
  if (first.evaluation.verdict == Verdict::kInfraError) return {};
  if (auto done = builds_.Wait(deadline_); !done) return done;
  for (size_t i = 1; i < variants_.size(); ++i) TakeBuild(builds_.Take(i - 1), &variants_[i]);
  for (size_t i = 1; i < variants_.size(); ++i) {
    Variant& variant = variants_[i];
    if (variant.tried) continue;
    const double needed = std::isfinite(first_s_) ? first_s_ : 0;
    out_of_time_ = out_of_time_ || deadline_.Passed() || deadline_.RemainingSeconds() < needed;
    if (!variant.built || out_of_time_) {
      out_of_time_ = true;
      continue;
    }
    if (auto done = Verify(&variant, VariantLimits(), /*confirm=*/false); !done) return done;
  }
  for (size_t i = 0; i < variants_.size(); ++i) {
    if (variants_[i].tried && variants_[i].evaluation.verdict == Verdict::kOk) {
      ranking_.push_back(i);
    }
  }
  SortByTime(&ranking_);
  return {};
}

Result<void> PoolEvaluator::Tuner::Verify(Variant* variant, const pool::StageLimits& limits,
                                          bool confirm) {
  variant->tried = true;
  return RunJob(Ranks() ? RankingJob(*variant, true, kFirstIterations) : variant->job, limits,
                confirm, variant);
}

// Estimates are exact: the CPU device's first word on a variant is its last.
bool PoolEvaluator::Tuner::Ranks() const { return owner_.device_.gpu && variants_.size() > 1; }

Result<void> PoolEvaluator::Tuner::Halve() {
  if (!Ranks()) return {};
  std::vector<size_t> left = ranking_;
  std::vector<size_t> beaten;  // the best of them last
  for (int iterations = 2 * kFirstIterations; left.size() > 1; iterations *= 2) {
    for (const size_t keep = (left.size() + 1) / 2; left.size() > keep; left.pop_back()) {
      beaten.push_back(left.back());
    }
    if (left.size() == 1 || deadline_.Passed()) break;
    const int most = std::min(iterations, owner_.config_.options.max_iterations);
    std::vector<size_t> still;
    for (size_t i : left) {
      if (!deadline_.Passed()) {
        auto done =
            RunJob(RankingJob(variants_[i], false, most), VariantLimits(), false, &variants_[i]);
        if (!done) return done;
      }
      if (variants_[i].evaluation.verdict == Verdict::kOk) still.push_back(i);
    }
    left = std::move(still);
    SortByTime(&left);
  }
  ranking_ = std::move(left);
  ranking_.insert(ranking_.end(), beaten.rbegin(), beaten.rend());
  return {};
}

// The best, judged as a candidate with its values is. One that fails now makes room for the next.
Result<bool> PoolEvaluator::Tuner::JudgeBest(Evaluation* evaluation) {
  const Variant* blamed = &variants_.front();
  if (ranking_.size() > kMaxFinalists) ranking_.resize(kMaxFinalists);
  for (size_t i : ranking_) {
    Variant& variant = variants_[i];
    if (Ranks()) {
      auto done = RunJob(variant.job, owner_.Limits(), /*confirm=*/true, &variant);
      if (!done) return tl::unexpected(done.error());
    }
    if (variant.evaluation.verdict == Verdict::kOk) {
      chosen_ = i;
      Conclude(variant.evaluation, evaluation);
      return true;
    }
    blamed = &variant;
    if (variant.evaluation.verdict == Verdict::kInfraError) break;
  }
  Conclude(blamed->evaluation, evaluation);
  const int others = evaluation->tuning ? evaluation->tuning->tried - 1 : 0;
  if (others > 0 && ranking_.empty()) {
    std::string& message = evaluation->message;
    if (util::EndsWith(message, ".")) message.pop_back();
    message += "; none of the " + std::to_string(others) +
               " other combinations of tune values that were tried works either.";
  }
  return false;
}

Result<void> PoolEvaluator::Tuner::RunJob(const protocol::EvaluateJob& job,
                                          const pool::StageLimits& limits, bool confirm,
                                          Variant* variant) {
  Evaluation evaluation = base_;
  evaluation.candidate_hash = variant->evaluation.candidate_hash;
  evaluation.compile = variant->evaluation.compile;
  const CheckReport verified = variant->evaluation.check;
  // Only a candidate as a whole may tell that the machine is broken.
  const int infra_errors = std::exchange(owner_.infra_errors_, confirm ? owner_.infra_errors_ : 0);
  const Result<void> done = owner_.RunOnDevice(job, limits, confirm, &evaluation);
  if (!confirm) owner_.infra_errors_ = infra_errors;
  if (!done) return done;
  if (!job.trials && evaluation.verdict == Verdict::kOk) evaluation.check = verified;
  variant->evaluation = std::move(evaluation);
  if (variant->evaluation.candidate) {
    variant->median_ms = variant->evaluation.candidate->median_ms;
  }
  // No new spare now: its start would disturb the timings.
  owner_.worker_->Recover(/*want_spare=*/false);
  return {};
}

protocol::EvaluateJob PoolEvaluator::Tuner::RankingJob(const Variant& variant, bool trials,
                                                       int iterations) const {
  protocol::EvaluateJob job = variant.job;
  job.trials = trials;
  job.eager = false;
  job.options.races = false;
  job.options.min_iterations = job.options.max_iterations = iterations;
  job.options.time_limit_s = std::min(job.options.time_limit_s, kShortTimingSeconds);
  return job;
}

pool::StageLimits PoolEvaluator::Tuner::VariantLimits() const {
  const double most = std::min(kPatience * first_s_ + kPatienceSeconds,
                               std::max(1.0, deadline_.RemainingSeconds()));
  pool::StageLimits limits = owner_.Limits();
  for (auto& [stage, seconds] : limits) seconds = std::min(seconds, most);
  return limits;
}

void PoolEvaluator::Tuner::Fail(const Fault& fault, const std::string& stage, Variant* variant) {
  variant->evaluation.verdict = fault.verdict;
  variant->evaluation.message = fault.message;
  variant->evaluation.stage = stage;
}

// Among estimates, a variant with kernels of its own comes before one without, for the reason that
// search::Better() gives.
void PoolEvaluator::Tuner::SortByTime(std::vector<size_t>* order) const {
  const auto key = [&](size_t i) {
    const Evaluation& e = variants_[i].evaluation;
    const bool ops_only = e.estimated && e.own_kernel_share.value_or(0) <= 0;
    return std::pair(ops_only,
                     variants_[i].median_ms.value_or(std::numeric_limits<double>::infinity()));
  };
  std::stable_sort(order->begin(), order->end(),
                   [&](size_t a, size_t b) { return key(a) < key(b); });
}

Tuning PoolEvaluator::Tuner::Report() const {
  Tuning report;
  report.seconds = watch_.Seconds();
  report.untried = left_out_;
  if (left_out_ > 0 || !left_out_is_all_) {
    report.note = "--max-variants " + std::to_string(owner_.config_.tune.max_variants);
  }
  for (const Variant& variant : variants_) {
    if (!variant.tried) {
      ++report.untried;
      continue;
    }
    TuningVariant& row = report.variants.emplace_back();
    row.values = variant.values;
    row.verdict = variant.evaluation.verdict;
    if (row.verdict != Verdict::kOk) {
      row.message = util::SanitiseLog(variant.evaluation.message, kMaxMessageBytes);
    }
    row.median_ms = variant.median_ms;
    ++report.tried;
    ++(row.verdict == Verdict::kOk ? report.verified : report.failed);
  }
  if (out_of_time_) {
    char limit[48];
    std::snprintf(limit, sizeof limit, "--tune-limit %g", owner_.config_.tune.limit_s);
    report.note += (report.note.empty() ? "" : ", ") + std::string(limit);
  }
  if (chosen_) report.chosen = variants_[*chosen_].values;
  return report;
}

void PoolEvaluator::Tuner::Conclude(const Evaluation& from, Evaluation* evaluation) const {
  *evaluation = from;
  if (evaluation->verdict == Verdict::kInfraError) return;  // nothing was learnt
  evaluation->tuning = Report();
  evaluation->seconds["tune"] = evaluation->tuning->seconds;
}

}  // namespace cudaagent::evaluate
