// Scores against values worked out by hand.
#include "bench/scores.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cudaagent::bench {
namespace {

Row Correct(const std::string& key, double eager, int sample = 0) {
  Row row;
  row.problem = row.name = key;
  row.sample = sample;
  row.outcome = Outcome::kCorrect;
  row.seconds = 2;
  Evaluation e;
  e.verdict = Verdict::kOk;
  e.protocol.baseline = "eager";
  e.speedup_eager = Speedup{eager, eager, eager};
  row.evaluation = e;
  return row;
}

Row Wrong(const std::string& key, int sample = 0) {
  Row row;
  row.problem = row.name = key;
  row.sample = sample;
  row.outcome = Outcome::kIncorrect;
  row.seconds = 2;
  return row;
}

TEST(ScoresTest, FastPIsStrictAndCountsEveryProblem) {
  EXPECT_DOUBLE_EQ(FastP({1.0, 1.5, 2.0}, 1, 4), 0.5);
  EXPECT_DOUBLE_EQ(FastP({1.0, 1.5, 2.0}, 2, 4), 0);
  EXPECT_DOUBLE_EQ(FastP({}, 1, 0), 0);
}

TEST(ScoresTest, PassAtKIsTheUnbiasedEstimator) {
  // 1 - C(3,2)/C(5,2) = 1 - 3/10; 1 - C(9,5)/C(10,5) = 1 - 126/252.
  EXPECT_NEAR(PassAtK(5, 2, 2), 0.7, 1e-12);
  EXPECT_NEAR(PassAtK(10, 1, 5), 0.5, 1e-12);
  EXPECT_NEAR(PassAtK(10, 3, 1), 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(PassAtK(4, 0, 2), 0);
  EXPECT_DOUBLE_EQ(PassAtK(4, 3, 2), 1);
}

TEST(ScoresTest, GeometricMeanLeavesOutWhatHasNoLogarithm) {
  EXPECT_NEAR(*GeometricMean({2, 8}), 4, 1e-12);
  EXPECT_NEAR(*GeometricMean({2, 8, 0, INFINITY}), 4, 1e-12);
  EXPECT_FALSE(GeometricMean({}).has_value());
  // A product of these overflows; the mean of logarithms does not.
  EXPECT_NEAR(*GeometricMean(std::vector<double>(2000, 1e3)) / 1e3, 1, 1e-9);
}

TEST(ScoresTest, FourProblemsByHand) {
  // a 2.0x, b 0.5x, c wrong, d without a row.
  const Scores s =
      Score({Correct("a", 2), Correct("b", 0.5), Wrong("c")}, {"a", "b", "c", "d"}, {});
  EXPECT_EQ(s.problems, 4);
  EXPECT_EQ(s.correct, 2);
  EXPECT_EQ(s.outcomes.at("no_row"), 1);
  EXPECT_DOUBLE_EQ(s.fast_p.at("0"), 0.5);
  EXPECT_DOUBLE_EQ(s.fast_p.at("0.5"), 0.25);  // strict: 0.5x is not above 0.5
  EXPECT_DOUBLE_EQ(s.fast_p.at("1"), 0.25);
  EXPECT_DOUBLE_EQ(s.fast_p.at("2"), 0);
  EXPECT_NEAR(*s.geomean_eager, 1, 1e-12);
  EXPECT_NEAR(*s.geomean_faster, 2, 1e-12);
  EXPECT_FALSE(s.geomean_compile.has_value());
  EXPECT_EQ(s.geomean_n, 2);
  EXPECT_DOUBLE_EQ(s.seconds, 6);
}

TEST(ScoresTest, TheFirstSampleDecidesAndAllCountForPassAtK) {
  const std::vector<Row> rows = {Wrong("a", 0), Correct("a", 3, 1), Correct("b", 1.5, 0),
                                 Correct("b", 0.5, 1), Correct("b", 9, 2)};
  const Scores s = Score(rows, {"a", "b"}, {});
  EXPECT_DOUBLE_EQ(s.fast_p.at("1"), 0.5);
  EXPECT_DOUBLE_EQ(*s.best_of_samples_fast_1, 1);
  ASSERT_EQ(s.pass_at.size(), 1u);  // no problem has 5 samples
  EXPECT_NEAR(s.pass_at[0].value, (0.5 + 1) / 2, 1e-12);
  ScoreOptions three;
  three.k = {3};
  EXPECT_EQ(Score(rows, {"a", "b"}, three).pass_at.at(0).problems, 1);  // b alone has three
}

TEST(ScoresTest, CorrectButNotTimedCountsForCorrectnessAlone) {
  Row row = Correct("a", 2);
  row.evaluation->speedup_eager.reset();
  const Scores s = Score({row}, {"a"}, {});
  EXPECT_DOUBLE_EQ(s.fast_p.at("0"), 1);
  EXPECT_DOUBLE_EQ(s.fast_p.at("0.5"), 0);
}

TEST(ScoresTest, DegenerateProblemsAreLeftOutOfTheSecondTable) {
  Row listed = Correct("level2/80_Gemm_Max_Subtract_GELU", 50);
  listed.level = 2;
  listed.name = "80_Gemm_Max_Subtract_GELU";
  Row found = Correct("level2/1_Honest", 40);
  found.evaluation->degenerate = "zeros pass for the result";
  const std::vector<std::string> keys = {listed.problem, found.problem, "level2/2_Other",
                                         "level2/83_Conv3d_GroupNorm_Min_Clamp_Dropout"};
  const ScoreTable table = ScoreAll({listed, found, Correct("level2/2_Other", 0.5)}, keys, {});
  EXPECT_DOUBLE_EQ(table.all.fast_p.at("1"), 0.5);
  EXPECT_EQ(table.without_degenerate.problems, 1);  // the one without a row is listed too
  EXPECT_DOUBLE_EQ(table.without_degenerate.fast_p.at("1"), 0);
  EXPECT_EQ(table.levels.at(2).first.problems, 4);
}

TEST(ScoresTest, AskingForAFigureThatIsNotThereSaysWhichAre) {
  const Scores s = Score({Correct("a", 2)}, {"a"}, {});
  EXPECT_DOUBLE_EQ(*Figure(s, "fast_1"), 1);
  EXPECT_DOUBLE_EQ(*Figure(s, "correctness"), 1);
  EXPECT_DOUBLE_EQ(*Figure(s, "geomean"), 2);
  EXPECT_NE(Figure(s, "fast_3").error().message.find("--fast-p"), std::string::npos);
  EXPECT_NE(Figure(s, "quick").error().message.find("fast_P"), std::string::npos);
  EXPECT_FALSE(Figure(s, "geomean_compile"));
  EXPECT_FALSE(Figure(s, "geomean_sol"));
  for (const char* none :
       {"pass@0", "pass@-1", "pass@1.5", "pass@", "fast_x", "fast_-1", "fast_"}) {
    EXPECT_NE(Figure(s, none).error().message.find("There is no score"), std::string::npos) << none;
  }
  EXPECT_DOUBLE_EQ(*Figure(s, "fast_1.50"), 1);
  ScoreOptions without_zero;
  without_zero.p = {1};
  EXPECT_DOUBLE_EQ(*Figure(Score({Correct("a", 2)}, {"a"}, without_zero), "correctness"), 1);
}

TEST(ScoresTest, TheSpeedOfLightIsAMeanOverTheCorrectThatHaveOne) {
  std::vector<Row> rows = {Correct("a", 2), Correct("b", 1), Correct("c", 1), Wrong("d")};
  rows[0].evaluation->sol = 0.9;
  rows[1].evaluation->sol = 0.4;
  rows[3].evaluation = rows[0].evaluation;
  const Scores s = Score(rows, {"a", "b", "c", "d"}, {});
  EXPECT_NEAR(*s.geomean_sol, 0.6, 1e-12);
  EXPECT_EQ(s.sol_n, 2);
  EXPECT_NEAR(*Figure(s, "geomean_sol"), 0.6, 1e-12);
  EXPECT_NEAR(ToJson(s)["geomean_sol"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(ToJson(s)["sol_n"], 2);
}

}  // namespace
}  // namespace cudaagent::bench
