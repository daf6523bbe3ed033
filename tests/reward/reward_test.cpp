#include "reward/reward.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cudaagent::reward {
namespace {

Evaluation Correct(double eager_low, double eager, double compile_low, double compile) {
  Evaluation e;
  e.verdict = Verdict::kOk;
  e.protocol.baseline = "compile";
  e.speedup_eager = Speedup{eager, eager_low, eager + 0.1};
  e.speedup_compile = Speedup{compile, compile_low, compile + 0.1};
  return e;
}

TEST(RewardTest, MilestoneFollowsTheFourSteps) {
  Evaluation wrong;
  wrong.verdict = Verdict::kWrongResult;
  EXPECT_EQ(Compute("milestone", wrong), -1);
  EXPECT_EQ(Compute("milestone", Correct(1.00, 1.02, 0.9, 0.95)), 1);
  EXPECT_EQ(Compute("milestone", Correct(1.50, 1.60, 0.9, 1.00)), 2);
  EXPECT_EQ(Compute("milestone", Correct(1.50, 1.60, 1.1, 1.20)), 3);
}

TEST(RewardTest, MilestoneNeedsTheIntervalAndThePaperOnlyTheMedian) {
  const Evaluation noisy = Correct(1.01, 1.20, 1.01, 1.20);
  EXPECT_EQ(Compute("milestone", noisy), 1);
  EXPECT_EQ(Compute("milestone-paper", noisy), 3);
}

TEST(RewardTest, BeingFasterThanCompileButNotEagerEarnsOnlyCorrect) {
  EXPECT_EQ(Compute("milestone", Correct(0.9, 0.95, 1.5, 1.6)), 1);
}

TEST(RewardTest, ABaselineThatWasNotMeasuredEarnsNoMilestone) {
  Evaluation e = Correct(2.0, 2.1, 2.0, 2.1);
  e.speedup_compile.reset();
  EXPECT_EQ(Compute("milestone", e), 2);
  e.speedup_eager.reset();
  EXPECT_EQ(Compute("milestone", e), 1);
}

TEST(RewardTest, FivePercentIsOfTheBaselinesTime) {
  // t = 0.95 t0 exactly is not "more than 5 %".
  EXPECT_EQ(Compute("milestone", Correct(1 / 0.95, 1.1, 0, 0)), 1);
  EXPECT_EQ(Compute("milestone", Correct(1 / 0.949, 1.1, 0, 0)), 2);
}

TEST(RewardTest, NobodysFaultIsNobodysReward) {
  for (Verdict verdict : {Verdict::kInfraError, Verdict::kUnsupported}) {
    Evaluation e = Correct(2, 2, 2, 2);
    e.verdict = verdict;
    for (const std::string& name : Names()) EXPECT_FALSE(Compute(name, e)) << name;
  }
}

TEST(RewardTest, EveryKnownNameJudgesEveryCandidatesFault) {
  for (const auto& [verdict, text] : kVerdictNames) {
    Evaluation e;
    e.verdict = verdict;
    for (const std::string& name : Names()) {
      const bool none = verdict == Verdict::kInfraError || verdict == Verdict::kUnsupported;
      EXPECT_EQ(Compute(name, e).has_value(), !none) << name << " on " << text;
    }
  }
}

TEST(RewardTest, LogSpeedupHasADeadBandWhereTheIntervalCoversOne) {
  EXPECT_EQ(Compute("log-speedup", Correct(2, 2, 0.99, 1.02)), 0);
  EXPECT_DOUBLE_EQ(*Compute("log-speedup", Correct(2, 2, 1.9, 2.0)), std::log(2.0));
}

TEST(RewardTest, EagerDecidesWhereItIsNamed) {
  Evaluation e = Correct(3, 3, 2, 2);
  e.protocol.baseline = "eager";
  EXPECT_EQ(Compute("speedup", e), 3);
  EXPECT_EQ(Compute("fast1", e), 1);
}

TEST(RewardTest, WeightedAddsCompilingCorrectnessAndACappedSpeedup) {
  EXPECT_DOUBLE_EQ(*Compute("weighted", Correct(2, 2, 1.9, 2)), 0.7 + 0.6);
  EXPECT_DOUBLE_EQ(*Compute("weighted", Correct(9, 9, 8, 9)), 0.7 + 0.9);
  EXPECT_DOUBLE_EQ(*Compute("weighted", Correct(0.5, 0.5, 0.4, 0.5)), 0.7 + 0.15 - 0.1);
  Evaluation degenerate = Correct(9, 9, 8, 9);
  degenerate.degenerate = "zeros";
  EXPECT_DOUBLE_EQ(*Compute("weighted", degenerate), 0.7 + 0.3);
  Evaluation e;
  e.verdict = Verdict::kOk;
  EXPECT_DOUBLE_EQ(*Compute("weighted", e), 0.7) << "nothing was timed";
  e.verdict = Verdict::kCompileFailed;
  EXPECT_DOUBLE_EQ(*Compute("weighted", e), -0.5);
  e.verdict = Verdict::kOutOfBounds;
  EXPECT_DOUBLE_EQ(*Compute("weighted", e), -0.3);
}

TEST(RewardTest, AnUnknownNameHasNoReward) {
  EXPECT_FALSE(Compute("generous", Correct(2, 2, 2, 2)));
}

}  // namespace
}  // namespace cudaagent::reward
