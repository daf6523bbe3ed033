#include "search/refine.h"

#include <chrono>
#include <limits>
#include <utility>

#include "candidate/tune.h"
#include "reward/reward.h"

namespace cudaagent::search {
namespace {

using Clock = std::chrono::steady_clock;

// Refuted ones that are replaced by the next best.
constexpr int kMaxConfirmations = 3;

class Loop {
 public:
  Loop(const ProblemSpec& spec, Evaluator& evaluator, Proposer& proposer, Store& store,
       const Limits& limits, const Observer& observer)
      : spec_(spec),
        evaluator_(evaluator),
        proposer_(proposer),
        store_(store),
        limits_(limits),
        observer_(observer),
        start_(Clock::now()) {}

  Outcome Run(const Start& start) {
    earlier_s_ = start.elapsed_s;
    baselines_ = start.init ? 1 : 0;
    for (const Attempt& attempt : start.history) Count(attempt);
    const bool begun = !start.init || !outcome_.attempts.empty() || Judge(*start.init, nullptr);
    // A target that the confirmation does not reach was not reached: the search goes on.
    while (begun && Search() && ConfirmBest() && outcome_.reason == StopReason::kTarget &&
           !TargetReached()) {
    }
    outcome_.elapsed_s = Elapsed();
    return std::move(outcome_);
  }

 private:
  // Until a limit is reached. False: the run cannot go on.
  bool Search() {
    while (!Finished()) {
      auto proposal = Propose();
      if (!proposal) return Stop(proposal.error());
      if (!proposal->has_value()) {
        return Reached(limits_.max_tokens && TokensUsed() > 0 ? StopReason::kTokens
                                                              : StopReason::kExhausted);
      }
      if (!Judge((*proposal)->candidate, &**proposal)) return false;
    }
    return true;
  }

  // The best is called best once a fresh worker has found the same; where it does not, the next
  // best takes its place. False: the run cannot go on.
  bool ConfirmBest() {
    if (!limits_.confirm || outcome_.reason == StopReason::kInterrupted) return true;
    for (int tries = 0; tries < kMaxConfirmations && NeedsConfirmation(); ++tries) {
      Attempt& attempt = outcome_.attempts[outcome_.best];
      if (observer_.on_confirm) observer_.on_confirm(attempt);
      auto evaluation = evaluator_.Confirm(attempt.candidate);
      if (!evaluation) return Stop(evaluation.error());
      // What the machine did to it says nothing of the candidate.
      if (evaluation->verdict == Verdict::kInfraError) return true;
      attempt.confirmation = std::move(*evaluation);
      outcome_.best = BestOfAll();
      auto saved = store_.SaveConfirmation(attempt, best());
      if (!saved) return Stop(saved.error());
      if (observer_.on_confirmed) observer_.on_confirmed(attempt);
    }
    return true;
  }

  bool NeedsConfirmation() const {
    return best() != nullptr && !best()->confirmation && best()->evaluation.candidate &&
           !best()->evaluation.estimated;
  }

  int BestOfAll() const {
    int found = -1;
    for (const Attempt& attempt : outcome_.attempts) {
      if (attempt.judgement().verdict != Verdict::kOk) continue;
      if (found < 0 || Better(attempt.judgement(), outcome_.attempts[found].judgement())) {
        found = attempt.number;
      }
    }
    return found;
  }

  Result<std::optional<Proposal>> Propose() {
    const int number = static_cast<int>(outcome_.attempts.size());
    if (observer_.on_propose) observer_.on_propose(number, proposer_.name());
    ProposalContext context{spec_, evaluator_.problem(), outcome_.attempts, best(), {}, {}};
    if (limits_.max_tokens) context.tokens_left = *limits_.max_tokens - TokensUsed();
    if (!outcome_.attempts.empty()) context.device = outcome_.attempts.back().evaluation.device;
    return proposer_.Propose(context);
  }

  // Evaluates, keeps and stores one candidate. False: the run cannot go on.
  bool Judge(const Candidate& candidate, const Proposal* proposal) {
    auto evaluation = evaluator_.Evaluate(candidate);
    if (!evaluation) return Stop(evaluation.error());
    Attempt attempt;
    attempt.number = static_cast<int>(outcome_.attempts.size());
    attempt.parent = outcome_.best;
    attempt.candidate = candidate;
    attempt.evaluation = std::move(*evaluation);
    if (proposal != nullptr) attempt.usage = *proposal;
    if (const auto& tuning = attempt.evaluation.tuning; tuning && !tuning->chosen.empty()) {
      // What was measured is what is kept.
      auto tuned = candidate::WithTuned(candidate.source, tuning->chosen);
      if (!tuned) return Stop({ErrorCode::kInternal, tuned.error().message});
      attempt.candidate.source = std::move(*tuned);
    }
    if (observer_.feedback) attempt.feedback = observer_.feedback(attempt);
    attempt.elapsed_s = Elapsed();
    const bool new_best = IsNewBest(attempt);
    auto saved = store_.SaveAttempt(attempt, proposal, new_best);
    if (!saved) return Stop(saved.error());
    Count(std::move(attempt));
    if (observer_.on_attempt) observer_.on_attempt(outcome_.attempts.back(), new_best);
    return true;
  }

  bool IsNewBest(const Attempt& attempt) const {
    return attempt.judgement().verdict == Verdict::kOk &&
           (best() == nullptr || Better(attempt.judgement(), best()->judgement()));
  }

  // Makes it part of what the run knows.
  void Count(Attempt attempt) {
    const bool new_best = IsNewBest(attempt);
    since_best_ = new_best ? 0 : since_best_ + 1;
    if (new_best) outcome_.best = attempt.number;
    outcome_.attempts.push_back(std::move(attempt));
  }

  bool Finished() {
    if (observer_.stop_requested && observer_.stop_requested()) {
      return Reached(StopReason::kInterrupted);
    }
    if (TargetReached()) return Reached(StopReason::kTarget);
    if (limits_.sol_target > 0 && best() != nullptr &&
        best()->judgement().sol.value_or(0) >= limits_.sol_target) {
      return Reached(StopReason::kSpeedOfLight);
    }
    const int proposals = static_cast<int>(outcome_.attempts.size()) - baselines_;
    if (proposals >= limits_.attempts) return Reached(StopReason::kAttempts);
    if (limits_.patience > 0 && since_best_ >= limits_.patience) {
      return Reached(StopReason::kPatience);
    }
    if (limits_.max_seconds && Elapsed() >= *limits_.max_seconds) return Reached(StopReason::kTime);
    if (limits_.max_tokens && TokensUsed() >= *limits_.max_tokens) {
      return Reached(StopReason::kTokens);
    }
    return false;
  }

  bool TargetReached() const {
    if (!limits_.target_speedup || best() == nullptr || best()->evaluation.estimated) return false;
    auto speedup = reward::DecidingSpeedup(best()->judgement());
    return speedup && speedup->low >= *limits_.target_speedup;
  }

  double Elapsed() const {
    return earlier_s_ + std::chrono::duration<double>(Clock::now() - start_).count();
  }
  int64_t TokensUsed() const {
    Usage used;
    for (const Attempt& attempt : outcome_.attempts) used += attempt.usage;
    return used.total_tokens();
  }
  const Attempt* best() const {
    return outcome_.best < 0 ? nullptr : &outcome_.attempts[outcome_.best];
  }
  bool Reached(StopReason reason) {
    outcome_.reason = reason;
    return true;
  }
  bool Stop(Error error) {
    outcome_.error = std::move(error);
    return false;
  }

  const ProblemSpec& spec_;
  Evaluator& evaluator_;
  Proposer& proposer_;
  Store& store_;
  const Limits& limits_;
  const Observer& observer_;
  Clock::time_point start_;
  double earlier_s_ = 0;
  int baselines_ = 0;
  Outcome outcome_;
  int since_best_ = 0;
};

// Bigger is better; incorrect is the worst.
double Score(const Evaluation& e) {
  if (e.verdict != Verdict::kOk) return -std::numeric_limits<double>::infinity();
  auto speedup = reward::DecidingSpeedup(e);
  return speedup ? speedup->value : 0;
}

}  // namespace

std::string ToString(StopReason reason) {
  switch (reason) {
    case StopReason::kSpeedOfLight:
      return "the best is as fast as the device allows";
    case StopReason::kAttempts:
      return "all attempts used";
    case StopReason::kPatience:
      return "no better kernel for --patience attempts";
    case StopReason::kTarget:
      return "target speedup reached";
    case StopReason::kTime:
      return "time limit reached";
    case StopReason::kTokens:
      return "token budget used up";
    case StopReason::kExhausted:
      return "the proposer has nothing more to propose";
    case StopReason::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

std::optional<StopReason> StopReasonOf(const std::string& words) {
  for (StopReason reason : {StopReason::kSpeedOfLight, StopReason::kTokens, StopReason::kAttempts,
                            StopReason::kPatience, StopReason::kTarget, StopReason::kTime,
                            StopReason::kExhausted, StopReason::kInterrupted}) {
    if (ToString(reason) == words) return reason;
  }
  return std::nullopt;
}

bool Better(const Evaluation& a, const Evaluation& b) {
  const bool both_estimated =
      a.verdict == Verdict::kOk && b.verdict == Verdict::kOk && a.estimated && b.estimated;
  const bool a_has_kernels = a.own_kernel_share.value_or(0) > 0;
  const bool b_has_kernels = b.own_kernel_share.value_or(0) > 0;
  if (both_estimated && a_has_kernels != b_has_kernels) return a_has_kernels;
  const double score_a = Score(a), score_b = Score(b);
  if (score_a != score_b) return score_a > score_b;
  if (!a.candidate || !b.candidate) return a.candidate.has_value() && !b.candidate.has_value();
  return a.candidate->median_ms < b.candidate->median_ms;
}

Outcome Refine(const ProblemSpec& spec, const Start& start, Evaluator& evaluator,
               Proposer& proposer, Store& store, const Limits& limits, const Observer& observer) {
  return Loop(spec, evaluator, proposer, store, limits, observer).Run(start);
}

}  // namespace cudaagent::search
