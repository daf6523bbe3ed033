// One candidate with tune values to choose from: every combination is compiled and verified, the
// best is found by successive halving and judged like any other candidate. docs/measurement.md has
// the rules. A combination that fails drops only itself.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "candidate/tune.h"
#include "evaluate/builds.h"
#include "evaluate/pool_evaluator.h"
#include "util/time.h"

namespace cudaagent::evaluate {

class PoolEvaluator::Tuner {
 public:
  // `combinations` are of this candidate's plan, at least one.
  Tuner(PoolEvaluator& owner, const Candidate& candidate, candidate::ParsedCandidate parsed,
        candidate::Combinations combinations);

  // As PoolEvaluator::Judge. The evaluation is the best combination's, and tells of the others.
  Result<bool> Run(Evaluation* evaluation);

 private:
  struct Variant {
    candidate::TuneValues values;
    std::string source;                // the candidate with these values written in
    std::vector<std::string> kernels;  // instances it launches
    protocol::EvaluateJob job;
    bool tried = false;
    bool built = false;
    Evaluation evaluation;            // the latest; kInfraError until there is one
    std::optional<double> median_ms;  // the latest
  };

  void Prepare(Variant* variant);
  protocol::CompileJob VariantCompileJob() const;
  Result<bool> BuildFirst();
  Result<bool> CodeCompilesAlone();
  void TakeBuild(std::optional<Checked<Build>> build, Variant* variant);

  Result<void> VerifyAll();
  Result<void> Verify(Variant* variant, const pool::StageLimits& limits, bool confirm);
  // Whether variants are ranked by short timings before the best is judged.
  bool Ranks() const;
  Result<void> Halve();
  Result<bool> JudgeBest(Evaluation* evaluation);

  // One job with the variant's values; its verdict and time are in the variant.
  Result<void> RunJob(const protocol::EvaluateJob& job, const pool::StageLimits& limits,
                      bool confirm, Variant* variant);
  protocol::EvaluateJob RankingJob(const Variant& variant, bool trials, int iterations) const;
  pool::StageLimits VariantLimits() const;
  void Fail(const Fault& fault, const std::string& stage, Variant* variant);
  void SortByTime(std::vector<size_t>* order) const;
  Tuning Report() const;
  void Conclude(const Evaluation& from, Evaluation* evaluation) const;

  PoolEvaluator& owner_;
  const Candidate& candidate_;
  candidate::ParsedCandidate parsed_;  // its plan's `tuned` holds the values being looked at
  Evaluation base_;                    // what holds for all
  std::vector<Variant> variants_;
  int64_t left_out_;
  bool left_out_is_all_;
  bool out_of_time_ = false;
  std::vector<size_t> ranking_;  // verified variants, the best first
  std::optional<size_t> chosen_;
  Builds builds_;  // of all but the first
  util::Stopwatch watch_;
  util::Deadline deadline_;
  double first_s_ = std::numeric_limits<double>::infinity();  // what the first took on the device
                                                              // where it verified
};

}  // namespace cudaagent::evaluate
