#include "candidate/tune.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "problem_fixture.h"

namespace cudaagent::candidate {
namespace {

const std::string kSteps =
    R"("steps": [{"op": "aten::linear", "args": ["$x", "$fc.weight"], "out": "out0"}])";

Plan PlanWith(const std::string& fields) {
  auto parsed = ParseCandidate(MakeSource(fields + ", " + kSteps));
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? parsed->plan : Plan{};
}

std::vector<std::string> Texts(const Combinations& combinations) {
  std::vector<std::string> texts;
  for (const TuneValues& values : combinations.values) texts.push_back(TuneText(values));
  return texts;
}

using Lines = std::vector<std::string>;

TEST(TuneCombinationsTest, TheDefaultComesFirstThenWhatIsNearestToTheFrontOfTheLists) {
  const auto all = TuneCombinations(PlanWith(R"("tune": {"B": [256, 128, 512], "V": [2, 1]})"),
                                    MakeProblem(), 64);
  EXPECT_EQ(Texts(all), (Lines{"B = 256, V = 2", "B = 256, V = 1", "B = 128, V = 2",
                               "B = 128, V = 1", "B = 512, V = 2", "B = 512, V = 1"}));
  EXPECT_EQ(all.left_out, 0);
  EXPECT_TRUE(all.all_seen);
}

TEST(TuneCombinationsTest, OnlyThoseThatSatisfyRequireAreThere) {
  // x is 64 x 256. A condition without a value (1 % 0) does not hold.
  const auto all = TuneCombinations(
      PlanWith(R"("tune": {"B": [100, 128, 0, 512]}, "require": ["x.size(1) % B == 0"])"),
      MakeProblem(), 64);
  EXPECT_EQ(Texts(all), Lines{"B = 128"});
}

TEST(TuneCombinationsTest, WhatIsBeyondTheCapIsCounted) {
  const auto some = TuneCombinations(PlanWith(R"("tune": {"B": [1, 2, 3, 4], "V": [1, 2, 3]})"),
                                     MakeProblem(), 5);
  EXPECT_EQ(some.values.size(), 5u);
  EXPECT_EQ(some.left_out, 7);
}

TEST(TuneCombinationsTest, ChosenValuesComeFirstAlsoWhereTheListsLackThem) {
  const auto all =
      TuneCombinations(PlanWith(R"("tune": {"B": [1, 2]}, "tuned": {"B": 7})"), MakeProblem(), 64);
  EXPECT_EQ(Texts(all), (Lines{"B = 7", "B = 1", "B = 2"}));
}

TEST(TuneCombinationsTest, AValueWrittenTwiceIsTriedOnce) {
  const auto all = TuneCombinations(PlanWith(R"("tune": {"B": [1, 1, 2]})"), MakeProblem(), 64);
  EXPECT_EQ(Texts(all), (Lines{"B = 1", "B = 2"}));
}

TEST(TuneCombinationsTest, ASpaceTooLargeToWalkEndsAndSaysSo) {
  std::string lists;
  for (int i = 0; i < 40; ++i) {
    lists += (i > 0 ? ", \"T" : "\"T") + std::to_string(i) + "\": [1, 1, 2, 3, 4, 5, 6, 7]";
  }
  const auto all = TuneCombinations(
      PlanWith("\"tune\": {" + lists + R"(}, "require": ["T0 > 100"])"), MakeProblem(), 64);
  EXPECT_TRUE(all.values.empty());
  EXPECT_FALSE(all.all_seen);
}

std::string Tuned(const std::string& source, const TuneValues& values) {
  auto tuned = WithTuned(source, values);
  EXPECT_TRUE(tuned) << tuned.error().message;
  return tuned.value_or("");
}

TEST(WithTunedTest, StandsAfterTuneAndLeavesAllElseAsItWas) {
  const std::string source =
      "/*cudaagent\n{ \"plan\": 1,\n  // \"tune\": {} in a comment\n"
      "  \"tune\" : { \"B\": [256, // not ]}\n   128], \"A\": [1] } , // why\n  " +
      kSteps + " }\n*/\n__global__ void g() {}  // tune\n";
  std::string expected = source;
  expected.insert(expected.find(" , // why"), ", \"tuned\": {\"B\": 128, \"A\": 1}");
  EXPECT_EQ(Tuned(source, {{"A", 1}, {"B", 128}}), expected);
}

TEST(WithTunedTest, ReplacesValuesThatStandThere) {
  const std::string before =
      "/*cudaagent {\"plan\": 1, \"tuned\": {\"B\": 1\n}, \"tune\": {\"B\": [1, -2]}, ";
  const std::string after =
      "/*cudaagent {\"plan\": 1, \"tuned\": {\"B\": -2}, \"tune\": {\"B\": [1, -2]}, ";
  EXPECT_EQ(Tuned(before + kSteps + "} */\n", {{"B", -2}}), after + kSteps + "} */\n");
}

TEST(WithTunedTest, IsNotMisledByTheSameWordsDeeperDownOrByAByteOrderMark) {
  const std::string source =
      "\xEF\xBB\xBF/* cudaagent {\"plan\": 1, \"buffers\": {\"tune2\": {\"dtype\": \"float32\", "
      "\"shape\": [\"B\"]}}, \"t\\u0075ne\": {\"B\": [3]}, " +
      kSteps + "} */\n";
  std::string expected = source;
  expected.insert(expected.find(", \"steps\""), ", \"tuned\": {\"B\": 3}");
  EXPECT_EQ(Tuned(source, {{"B", 3}}), expected);
}

TEST(WithTunedTest, TheResultReadsBackAndIsStable) {
  const std::string once = Tuned(MakeSource(R"("tune": {"B": [1, 2]}, )" + kSteps), {{"B", 2}});
  EXPECT_EQ(Tuned(once, {{"B", 2}}), once);
  EXPECT_EQ(ParseCandidate(once)->plan.DefaultTune(), (TuneValues{{"B", 2}}));
  EXPECT_EQ(std::count(once.begin(), once.end(), '\n'), 5);
}

TEST(WithTunedTest, ATextThatIsNoCandidateIsRefused) {
  EXPECT_FALSE(WithTuned("no plan", {{"B", 2}}));
}

}  // namespace
}  // namespace cudaagent::candidate
