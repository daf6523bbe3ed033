#include "reward/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cudaagent::reward {
namespace {

using testing::HasSubstr;

Evaluation Measured(double ms, double half_width = 0.002, double eager_ms = 1) {
  Evaluation e;
  e.verdict = Verdict::kOk;
  e.problem_hash = "p";
  e.device.uuid = "GPU-1";
  e.protocol.precision = "tf32";
  e.candidate = Timing{ms, ms * (1 - half_width), ms * (1 + half_width), 20, 0, 1, "cupti-graph"};
  const double speedup = eager_ms / ms;
  e.speedup_eager = Speedup{speedup, speedup * (1 - half_width), speedup * (1 + half_width)};
  return e;
}

Relation RelationOf(const Evaluation& a, const Evaluation& b, double margin = 0.01) {
  auto comparison = Compare(a, b, margin);
  EXPECT_TRUE(comparison) << comparison.error().message;
  return comparison ? comparison->relation : Relation::kUnsure;
}

TEST(CompareTest, CallsAClearDifferenceFasterOrSlower) {
  EXPECT_EQ(RelationOf(Measured(0.8), Measured(1.0)), Relation::kFaster);
  EXPECT_EQ(RelationOf(Measured(1.0), Measured(0.8)), Relation::kSlower);
}

TEST(CompareTest, CallsEqualTimesTheSameAndWideIntervalsUnsure) {
  EXPECT_EQ(RelationOf(Measured(1.0), Measured(1.001)), Relation::kSame);
  EXPECT_EQ(RelationOf(Measured(1.0, 0.05), Measured(1.03, 0.05)), Relation::kUnsure);
  EXPECT_EQ(RelationOf(Measured(1.0), Measured(1.012)), Relation::kUnsure);
}

TEST(CompareTest, CancelsDriftThroughEager) {
  // The second was measured while the device ran a tenth slower: eager and candidate alike.
  const Evaluation before = Measured(1.0, 0.002, 2.0), after = Measured(1.1, 0.002, 2.2);
  auto comparison = Compare(before, after, 0.01);
  ASSERT_TRUE(comparison);
  EXPECT_TRUE(comparison->by_eager);
  EXPECT_EQ(comparison->relation, Relation::kSame);
  EXPECT_NEAR(comparison->ratio.value, 1, 1e-9);
}

TEST(CompareTest, CombinesIntervalsInQuadrature) {
  auto comparison = Compare(Measured(1.0, 0.03), Measured(1.0, 0.04), 0.01);
  ASSERT_TRUE(comparison);
  EXPECT_NEAR(comparison->ratio.high, 1.05, 0.002);
  EXPECT_NEAR(comparison->ratio.low, 0.95, 0.002);
}

TEST(CompareTest, TakesEstimatesAtTheirWord) {
  Evaluation a = Measured(1.0, 0), b = Measured(1.001, 0);
  a.estimated = b.estimated = true;
  EXPECT_EQ(RelationOf(a, b), Relation::kFaster);
  EXPECT_EQ(RelationOf(b, a), Relation::kSlower);
  EXPECT_EQ(RelationOf(a, a), Relation::kSame);
}

TEST(CompareTest, RefusesWhatCannotBeCompared) {
  const auto refusal = [](const Evaluation& a, const Evaluation& b) {
    auto comparison = Compare(a, b, 0.01);
    return comparison ? std::string("compared") : comparison.error().message;
  };
  Evaluation other = Measured(1);
  other.problem_hash = "q";
  EXPECT_THAT(refusal(Measured(1), other),
              HasSubstr("and mode, as a hash) is p in the first and q"));
  other = Measured(1);
  other.device.uuid = "GPU-2";
  EXPECT_THAT(refusal(Measured(1), other), HasSubstr("the device is GPU-1"));
  other = Measured(1);
  other.protocol.precision = "fp32";
  EXPECT_THAT(refusal(Measured(1), other), HasSubstr("the precision"));
  other = Measured(1);
  other.estimated = true;
  EXPECT_THAT(refusal(Measured(1), other), HasSubstr("measured in the first and estimated"));
  other = Measured(1);
  other.verdict = Verdict::kWrongResult;
  EXPECT_THAT(refusal(Measured(1), other), HasSubstr("The second has no time to compare"));
  EXPECT_THAT(refusal(other, Measured(1)), HasSubstr("its verdict is wrong_result"));
}

}  // namespace
}  // namespace cudaagent::reward
