#include "search/refine.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace cudaagent::search {
namespace {

Evaluation Graded(Verdict verdict, double speedup) {
  Evaluation e;
  e.verdict = verdict;
  if (verdict == Verdict::kOk) {
    e.candidate = Timing{1.0 / speedup, 1.0 / speedup, 1.0 / speedup, 10};
    e.speedup_eager = Speedup{speedup, speedup * 0.99, speedup * 1.01};
  }
  return e;
}

// Judges a candidate by what its source says: "2.5" is a correct kernel of that speedup, "wrong" is
// wrong, "dead" means that nothing can be evaluated any more.
class FakeEvaluator : public Evaluator {
 public:
  const ProblemInfo& problem() const override { return problem_; }
  Result<Evaluation> Evaluate(const Candidate& candidate) override {
    ++calls;
    if (candidate.source == "dead") return Fail(ErrorCode::kEnvironment, "the device is gone");
    if (candidate.source == "wrong") return Graded(Verdict::kWrongResult, 0);
    Evaluation e = Graded(Verdict::kOk, std::stod(candidate.source));
    if (sol.contains(candidate.source)) e.sol = sol.at(candidate.source);
    return e;
  }
  // "2.5" is confirmed at `factor` times its speedup; what is in `refuted` is wrong then.
  Result<Evaluation> Confirm(const Candidate& candidate) override {
    confirmed.push_back(candidate.source);
    if (candidate.source == broken_machine) return Graded(Verdict::kInfraError, 0);
    if (refuted.contains(candidate.source)) return Graded(Verdict::kSuspectedHack, 0);
    return Graded(Verdict::kOk, std::stod(candidate.source) * factor);
  }
  int calls = 0;
  std::vector<std::string> confirmed;
  std::set<std::string> refuted;
  std::map<std::string, double> sol;
  std::string broken_machine;
  double factor = 1;

 private:
  ProblemInfo problem_;
};

class FakeProposer : public Proposer {
 public:
  explicit FakeProposer(std::vector<std::string> sources) : sources_(std::move(sources)) {}
  std::string name() const override { return "fake"; }
  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    bests.push_back(context.best ? context.best->candidate.source : "none");
    feedbacks.push_back(context.history.empty() ? "" : context.history.back().feedback);
    if (next_ == sources_.size()) return std::nullopt;
    if (sources_[next_] == "no endpoint") return Fail(ErrorCode::kLlm, "the endpoint is gone");
    budgets.push_back(context.tokens_left.value_or(-1));
    Proposal proposal;
    proposal.prompt_tokens = 60;
    proposal.completion_tokens = 40;
    proposal.candidate.source = sources_[next_++];
    return proposal;
  }
  std::vector<std::string> bests, feedbacks;
  std::vector<int64_t> budgets;

 private:
  std::vector<std::string> sources_;
  size_t next_ = 0;
};

class FakeStore : public Store {
 public:
  std::string folder() const override { return "/nowhere"; }
  Result<void> SaveAttempt(const Attempt& attempt, const Proposal*, bool new_best) override {
    if (attempt.number == full_at) return Fail(ErrorCode::kEnvironment, "disk full");
    saved.push_back(attempt.number);
    if (new_best) bests.push_back(attempt.number);
    return {};
  }
  Result<void> SaveConfirmation(const Attempt& attempt, const Attempt* best) override {
    confirmations.emplace_back(attempt.number, best == nullptr ? -1 : best->number);
    return {};
  }
  std::vector<int> saved, bests;
  std::vector<std::pair<int, int>> confirmations;  // of which attempt, best afterwards
  int full_at = -1;
};

class RefineTest : public testing::Test {
 protected:
  Outcome Run(std::vector<std::string> sources, Limits limits = {}, std::string init = "1.0") {
    FakeProposer proposer(std::move(sources));
    Candidate first;
    first.source = std::move(init);
    observer_.feedback = [](const Attempt& a) { return "about " + a.candidate.source; };
    Outcome outcome = Refine(spec_, {first, history_, elapsed_s_}, evaluator_, proposer, store_,
                             limits, observer_);
    bests_ = proposer.bests;
    feedbacks_ = proposer.feedbacks;
    budgets_ = proposer.budgets;
    return outcome;
  }
  ProblemSpec spec_;
  FakeEvaluator evaluator_;
  FakeStore store_;
  Observer observer_;
  std::vector<Attempt> history_;  // of earlier sittings
  double elapsed_s_ = 0;
  std::vector<std::string> bests_, feedbacks_;
  std::vector<int64_t> budgets_;
};

TEST_F(RefineTest, KeepsTheBestAndStoresEveryAttempt) {
  Outcome outcome = Run({"2.0", "wrong", "1.5", "3.0"});
  EXPECT_EQ(outcome.best, 4);
  EXPECT_EQ(outcome.reason, StopReason::kExhausted);
  EXPECT_EQ(store_.saved, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(store_.bests, (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(outcome.attempts[2].parent, 1);
}

TEST_F(RefineTest, TheProposerSeesTheBestAndTheLastFeedback) {
  Run({"2.0", "wrong", "1.5"});
  EXPECT_EQ(bests_, (std::vector<std::string>{"1.0", "2.0", "2.0", "2.0"}));
  EXPECT_EQ(feedbacks_[2], "about wrong");
}

TEST_F(RefineTest, AttemptsBoundTheProposalsNotTheBaseline) {
  Limits limits;
  limits.attempts = 2;
  Outcome outcome = Run({"2.0", "3.0", "4.0"}, limits);
  EXPECT_EQ(outcome.attempts.size(), 3u);
  EXPECT_EQ(outcome.reason, StopReason::kAttempts);
}

TEST_F(RefineTest, PatienceCountsAttemptsWithoutANewBest) {
  Limits limits;
  limits.patience = 2;
  Outcome outcome = Run({"2.0", "1.0", "3.0", "1.0", "wrong", "9.0"}, limits);
  EXPECT_EQ(outcome.attempts.size(), 6u);
  EXPECT_EQ(outcome.best, 3);
  EXPECT_EQ(outcome.reason, StopReason::kPatience);
}

TEST_F(RefineTest, TheTargetIsJudgedOnTheIntervalsLowerEnd) {
  Limits limits;
  limits.target_speedup = 2.0;
  Outcome outcome = Run({"2.0", "2.1", "5.0"}, limits);
  EXPECT_EQ(outcome.best, 2);
  EXPECT_EQ(outcome.reason, StopReason::kTarget);
}

TEST_F(RefineTest, NoTimeMeansOnlyTheBaseline) {
  Limits limits;
  limits.max_seconds = 0;
  Outcome outcome = Run({"2.0"}, limits);
  EXPECT_EQ(outcome.attempts.size(), 1u);
  EXPECT_EQ(outcome.reason, StopReason::kTime);
}

TEST_F(RefineTest, TheTokenBudgetIsToldAndEndsTheRun) {
  Limits limits;
  limits.max_tokens = 250;
  Outcome outcome = Run({"2.0", "3.0", "4.0", "5.0"}, limits);
  EXPECT_EQ(budgets_, (std::vector<int64_t>{250, 150, 50}));
  EXPECT_EQ(outcome.attempts.size(), 4u);
  EXPECT_EQ(outcome.attempts[3].usage.total_tokens(), 100);
  EXPECT_EQ(outcome.reason, StopReason::kTokens);
  Run({"2.0"});
  EXPECT_EQ(budgets_, (std::vector<int64_t>{-1}));
}

TEST_F(RefineTest, AnInterruptionStartsNothingNew) {
  observer_.stop_requested = [this] { return evaluator_.calls >= 2; };
  Outcome outcome = Run({"2.0", "3.0"});
  EXPECT_EQ(outcome.attempts.size(), 2u);
  EXPECT_EQ(outcome.reason, StopReason::kInterrupted);
}

TEST_F(RefineTest, AnErrorOfTheWorldEndsTheRunWithWhatWasReached) {
  Outcome outcome = Run({"2.0", "dead", "3.0"});
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, ErrorCode::kEnvironment);
  EXPECT_EQ(outcome.best, 1);
}

TEST_F(RefineTest, ALostEndpointEndsTheRunWithWhatWasReached) {
  Outcome outcome = Run({"2.0", "no endpoint"});
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, ErrorCode::kLlm);
  EXPECT_EQ(outcome.attempts.size(), 2u);
}

TEST_F(RefineTest, AnAttemptThatCannotBeStoredIsNotCounted) {
  store_.full_at = 1;
  Outcome outcome = Run({"2.0", "3.0"});
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.best, 0);
}

TEST_F(RefineTest, AWrongBaselineLeavesRoomForARightKernel) {
  Outcome outcome = Run({"0.5"}, {}, "wrong");
  EXPECT_EQ(outcome.best, 1);
  EXPECT_EQ(bests_[0], "none");
}

TEST_F(RefineTest, ResumedAfterAnyAttemptItEndsAsTheUndisturbedRun) {
  const std::vector<std::string> sources = {"2.0", "wrong", "1.5", "3.0",
                                            "1.0", "wrong", "2.5", "9.0"};
  Limits limits;
  limits.patience = 3;
  const Outcome whole = Run(sources, limits);
  ASSERT_EQ(whole.reason, StopReason::kPatience);
  for (size_t done = 0; done <= whole.attempts.size(); ++done) {
    history_.assign(whole.attempts.begin(), whole.attempts.begin() + done);
    evaluator_.calls = 0;
    const size_t proposed = done == 0 ? 0 : done - 1;  // attempt 0 is the baseline
    const Outcome resumed = Run({sources.begin() + proposed, sources.end()}, limits);
    EXPECT_EQ(evaluator_.calls, static_cast<int>(whole.attempts.size() - done)) << done;
    EXPECT_EQ(resumed.best, whole.best) << done;
    EXPECT_EQ(resumed.reason, whole.reason) << done;
    ASSERT_EQ(resumed.attempts.size(), whole.attempts.size()) << done;
    for (size_t i = 0; i < whole.attempts.size(); ++i) {
      EXPECT_EQ(resumed.attempts[i].number, static_cast<int>(i));
      EXPECT_EQ(resumed.attempts[i].parent, whole.attempts[i].parent);
      EXPECT_EQ(resumed.attempts[i].candidate.source, whole.attempts[i].candidate.source);
    }
  }
}

TEST_F(RefineTest, ResumedTheProposerSeesTheFeedbackAndTheBestOfBefore) {
  history_ = Run({"2.0", "wrong"}).attempts;
  Run({"3.0"});
  EXPECT_EQ(bests_[0], "2.0");
  EXPECT_EQ(feedbacks_[0], "about wrong");
}

TEST_F(RefineTest, TimeSpentBeforeCounts) {
  history_ = Run({"2.0"}).attempts;
  Limits limits;
  limits.max_seconds = 100;
  elapsed_s_ = 101;
  const Outcome outcome = Run({"3.0"}, limits);
  EXPECT_EQ(outcome.reason, StopReason::kTime);
  EXPECT_EQ(outcome.attempts.size(), 2u);
  EXPECT_GE(outcome.elapsed_s, 101);
}

TEST(StopReasonTest, ItsWordsLeadBackToIt) {
  EXPECT_EQ(StopReasonOf(ToString(StopReason::kPatience)), StopReason::kPatience);
  EXPECT_EQ(StopReasonOf(""), std::nullopt);
}

TEST(RefineWithoutBaselineTest, TheProposerStartsFromNothing) {
  FakeEvaluator evaluator;
  FakeProposer proposer({"wrong", "2.0"});
  FakeStore store;
  const Outcome outcome = Refine({}, {}, evaluator, proposer, store, {}, {});
  EXPECT_EQ(outcome.attempts.size(), 2u);
  EXPECT_EQ(outcome.best, 1);
}

TEST(BetterTest, CorrectBeatsIncorrectThenSpeedupThenTime) {
  EXPECT_TRUE(Better(Graded(Verdict::kOk, 0.1), Graded(Verdict::kWrongResult, 0)));
  EXPECT_TRUE(Better(Graded(Verdict::kOk, 2), Graded(Verdict::kOk, 1)));
  Evaluation slow = Graded(Verdict::kOk, 1), fast = Graded(Verdict::kOk, 1);
  slow.speedup_eager.reset();
  fast.speedup_eager.reset();
  fast.candidate->median_ms = 0.5;
  EXPECT_TRUE(Better(fast, slow));
  EXPECT_FALSE(Better(slow, fast));
}

TEST(BetterTest, AnEstimatedKernelComesBeforeAnEstimatedPlanOfOpsAlone) {
  Evaluation ops = Graded(Verdict::kOk, 1.0), kernel = Graded(Verdict::kOk, 0.6);
  ops.own_kernel_share = 0;
  kernel.own_kernel_share = 1;
  EXPECT_TRUE(Better(ops, kernel));  // measured: the faster one
  ops.estimated = kernel.estimated = true;
  EXPECT_TRUE(Better(kernel, ops));
  EXPECT_FALSE(Better(ops, kernel));
  kernel.verdict = Verdict::kWrongResult;
  EXPECT_TRUE(Better(ops, kernel));
}

TEST_F(RefineTest, TheBestIsConfirmedOnceTheSearchIsOver) {
  evaluator_.factor = 0.9;
  Outcome outcome = Run({"2.0", "3.0", "wrong"});
  EXPECT_EQ(evaluator_.confirmed, std::vector<std::string>{"3.0"});
  EXPECT_EQ(outcome.best, 2);
  ASSERT_TRUE(outcome.attempts[2].confirmation);
  EXPECT_DOUBLE_EQ(outcome.attempts[2].judgement().speedup_eager->value, 2.7);
  EXPECT_EQ(store_.confirmations, (std::vector<std::pair<int, int>>{{2, 2}}));
}

TEST_F(RefineTest, TheNextBestTakesTheRefutedOnesPlace) {
  evaluator_.refuted = {"3.0"};
  Outcome outcome = Run({"2.0", "3.0", "2.5", "1.5"});
  EXPECT_EQ(evaluator_.confirmed, (std::vector<std::string>{"3.0", "2.5"}));
  EXPECT_EQ(outcome.best, 3);
  EXPECT_EQ(store_.confirmations, (std::vector<std::pair<int, int>>{{2, 3}, {3, 3}}));
  EXPECT_EQ(outcome.attempts[2].judgement().verdict, Verdict::kSuspectedHack);
}

TEST_F(RefineTest, WithoutAnyOtherCorrectOneThereIsNoBestLeft) {
  evaluator_.refuted = {"1.0"};
  Outcome outcome = Run({"wrong"});
  EXPECT_EQ(outcome.best, -1);
  EXPECT_EQ(store_.confirmations, (std::vector<std::pair<int, int>>{{0, -1}}));
}

TEST_F(RefineTest, AConfirmationThatTheMachineSpoiltRefutesNothing) {
  evaluator_.broken_machine = "3.0";
  Outcome outcome = Run({"3.0"});
  EXPECT_EQ(outcome.best, 1);
  EXPECT_FALSE(outcome.attempts[1].confirmation);
  EXPECT_TRUE(store_.confirmations.empty());
}

TEST_F(RefineTest, ATargetThatTheConfirmationMissesIsSearchedOn) {
  evaluator_.factor = 0.8;
  Limits limits;
  limits.target_speedup = 2.5;
  Outcome outcome = Run({"3.0", "2.0", "4.0", "5.0"}, limits);
  EXPECT_EQ(evaluator_.confirmed, (std::vector<std::string>{"3.0", "4.0"}));
  EXPECT_EQ(outcome.reason, StopReason::kTarget);
  EXPECT_EQ(outcome.best, 3);
}

TEST_F(RefineTest, ARunThatWasConfirmedIsNotConfirmedAgain) {
  Outcome before = Run({"3.0"});
  evaluator_.confirmed.clear();
  history_ = before.attempts;
  Outcome outcome = Run({});
  EXPECT_EQ(outcome.best, 1);
  EXPECT_TRUE(evaluator_.confirmed.empty());
}

TEST_F(RefineTest, NothingIsConfirmedWhereThatWasNotAskedFor) {
  Limits limits;
  limits.confirm = false;
  Run({"3.0"}, limits);
  EXPECT_TRUE(evaluator_.confirmed.empty());
}

TEST_F(RefineTest, NothingIsLeftAtTheSpeedOfLight) {
  evaluator_.sol["3.0"] = 0.96;
  Outcome outcome = Run({"2.0", "3.0", "4.0"});
  EXPECT_EQ(outcome.reason, StopReason::kSpeedOfLight);
  EXPECT_EQ(outcome.attempts.size(), 3u);
  Limits limits;
  limits.sol_target = 0;
  history_.clear();
  EXPECT_EQ(Run({"2.0", "3.0", "4.0"}, limits).attempts.size(), 4u);
}

TEST(StopReasonTest, EveryOneIsReadBack) {
  for (StopReason reason : {StopReason::kSpeedOfLight, StopReason::kAttempts, StopReason::kPatience,
                            StopReason::kTarget, StopReason::kTime, StopReason::kTokens,
                            StopReason::kExhausted, StopReason::kInterrupted}) {
    EXPECT_EQ(StopReasonOf(ToString(reason)), reason);
  }
}

}  // namespace
}  // namespace cudaagent::search
