#include "bench/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/row_fixture.h"

namespace cudaagent::bench {
namespace {

using testing::HasSubstr;

TEST(GateTest, AMeasurementMayBeSlowerByTheMargin) {
  EXPECT_EQ(CompareRows(Measured("a", 1), Measured("a", 1.04), 0.05).change, Change::kSame);
  EXPECT_EQ(CompareRows(Measured("a", 1), Measured("a", 1.07), 0.05).change, Change::kSlower);
  EXPECT_EQ(CompareRows(Measured("a", 1), Measured("a", 0.9), 0.05).change, Change::kFaster);
}

TEST(GateTest, ANoisyMeasurementMayBeSlowerByThreeSigma) {
  // Intervals of +-5 % each: sigma of the ratio is about 3.6 %, three of them 10.8 %.
  EXPECT_EQ(CompareRows(Measured("a", 1, 0.05), Measured("a", 1.08, 0.05), 0.05).change,
            Change::kSame);
  const ProblemChange change = CompareRows(Measured("a", 1, 0.05), Measured("a", 1.2, 0.05), 0.05);
  EXPECT_EQ(change.change, Change::kSlower);
  EXPECT_THAT(change.words, HasSubstr("3 sigma"));
}

TEST(GateTest, EstimatesAreExact) {
  EXPECT_EQ(CompareRows(Estimated("a", 1), Estimated("a", 1), 0.05).change, Change::kSame);
  EXPECT_EQ(CompareRows(Estimated("a", 1), Estimated("a", 1.0001), 0.05).change, Change::kSlower);
  EXPECT_EQ(CompareRows(Estimated("a", 1), Estimated("a", 0.9999), 0.05).change, Change::kFaster);
}

TEST(GateTest, EstimatesOnOtherInputsMayDifferByHalfAPercent) {
  Row other = Estimated("a", 1.004);
  other.evaluation->check.seeds = {7};
  EXPECT_EQ(CompareRows(Estimated("a", 1), other, 0.05).change, Change::kSame);
  other.evaluation->candidate->median_ms = other.evaluation->candidate->ci_low_ms =
      other.evaluation->candidate->ci_high_ms = 1.006;
  EXPECT_EQ(CompareRows(Estimated("a", 1), other, 0.05).change, Change::kSlower);
}

TEST(GateTest, WhatIsNoLongerCorrectIsBrokenUnlessTheMachineFailed) {
  const ProblemChange broken =
      CompareRows(Measured("a", 1), Failed("a", Outcome::kIncorrect, "Off by one."), 0.05);
  EXPECT_EQ(broken.change, Change::kBroken);
  EXPECT_TRUE(broken.regression());
  EXPECT_THAT(broken.words, HasSubstr("Off by one."));
  EXPECT_EQ(CompareRows(Measured("a", 1), Failed("a", Outcome::kTimedOut, ""), 0.05).change,
            Change::kBroken);
  EXPECT_EQ(CompareRows(Measured("a", 1), Failed("a", Outcome::kInfraError, "ECC"), 0.05).change,
            Change::kNotCompared);
}

TEST(GateTest, AnotherDeviceOrOtherRulesAreNotCompared) {
  Row other = Measured("a", 9);
  other.evaluation->device.uuid = "GPU-2";
  EXPECT_EQ(CompareRows(Measured("a", 1), other, 0.05).change, Change::kNotCompared);
  EXPECT_THAT(CompareRows(Measured("a", 1), other, 0.05).words, HasSubstr("the device"));
  EXPECT_EQ(CompareRows(Estimated("a", 1), Measured("a", 9), 0.05).change, Change::kNotCompared);
}

TEST(GateTest, AgainstLooksAtWhatWasCorrectAndIsChosen) {
  const std::vector<Row> before = {Estimated("a", 1), Estimated("b", 1), Estimated("c", 1),
                                   Failed("d", Outcome::kIncorrect, "")};
  const std::vector<Row> now = {Estimated("a", 2), Estimated("d", 1)};
  const auto changes = Against(before, now, {"a", "b", "d"}, 0.05);
  ASSERT_EQ(changes.size(), 2u);  // c is not chosen; d was not correct
  EXPECT_EQ(changes[0].change, Change::kSlower);
  EXPECT_EQ(changes[1].change, Change::kNotCompared);
  EXPECT_THAT(changes[1].words, HasSubstr("no row"));
}

TEST(GateTest, RequirementsAreReadAndChecked) {
  const Scores scores =
      Score({Measured("a", 2), Failed("b", Outcome::kIncorrect, "")}, {"a", "b"}, {});
  const auto check = [&](const std::string& text) {
    return *Check(*ParseRequirement(text), scores);
  };
  EXPECT_EQ(check("fast_1=0.5"), "");  // not under
  EXPECT_THAT(check("fast_1=0.6"), HasSubstr("fast_1 is 0.5, below the 0.6"));
  EXPECT_EQ(check("geomean=2"), "");
  for (const char* bad :
       {"fast_1", "=1", "fast_1=", "fast_1=x", "fast_1=1x", "fast_1=nan", "fast_1=inf", ""}) {
    EXPECT_FALSE(ParseRequirement(bad)) << bad;
  }
}

}  // namespace
}  // namespace cudaagent::bench
