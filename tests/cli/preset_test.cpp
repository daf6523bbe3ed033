#include "cli/preset.h"

#include <gtest/gtest.h>

namespace cudaagent::cli {
namespace {

struct Parsed {
  ProblemFlags problem;
  EvalFlags eval;
};

Parsed Parse(std::vector<std::string> words) {
  Parsed parsed;
  CLI::App app;
  AddProblemFlags(app, parsed.problem);
  AddEvalFlags(app, parsed.eval);
  words.insert(words.begin(), "model.py");
  std::reverse(words.begin(), words.end());
  app.parse(words);
  ApplyPreset(app, parsed.problem, parsed.eval);
  return parsed;
}

TEST(PresetTest, WithoutOneNothingChanges) {
  const Parsed parsed = Parse({});
  EXPECT_EQ(parsed.eval.options.tier, EvalFlags().options.tier);
  EXPECT_EQ(parsed.problem.precision, ProblemFlags().precision);
  EXPECT_FALSE(parsed.eval.no_hidden_variants);
}

TEST(PresetTest, ItsRulesHoldWhereNothingElseWasSaid) {
  const Parsed parsed = Parse({"--preset", "cuda-agent", "--baseline", "eager"});
  EXPECT_EQ(parsed.eval.options.tier, "cuda-agent");
  EXPECT_EQ(parsed.problem.precision, "fp32");
  EXPECT_EQ(parsed.eval.reward, "milestone-paper");
  EXPECT_TRUE(parsed.eval.no_hidden_variants);
  EXPECT_EQ(parsed.eval.baseline, "eager");
}

TEST(PresetTest, TheFirstIsTheDefaultAndSaysWhatTheDefaultsAre) {
  EXPECT_EQ(EvalFlags().preset, PresetNames().front());
  const Parsed parsed = Parse({"--preset", "verified"});
  EXPECT_EQ(parsed.eval.options.tier, EvalFlags().options.tier);
  EXPECT_EQ(parsed.problem.precision, ProblemFlags().precision);
  EXPECT_EQ(parsed.eval.baseline, EvalFlags().baseline);
  EXPECT_EQ(parsed.eval.reward, EvalFlags().reward);
  EXPECT_FALSE(parsed.eval.no_hidden_variants);
}

TEST(PresetTest, OnlyKernelBenchsRunsInTrainModeUnlessTold) {
  EXPECT_EQ(Parse({}).problem.mode, "eval");
  EXPECT_EQ(Parse({"--preset", "cuda-agent"}).problem.mode, "eval");
  EXPECT_EQ(Parse({"--preset", "kernelbench"}).problem.mode, "train");
  EXPECT_EQ(Parse({"--preset", "kernelbench", "--mode", "eval"}).problem.mode, "eval");
}

TEST(PresetTest, AnUnknownOneIsRefused) {
  EXPECT_THROW(Parse({"--preset", "mine"}), CLI::ParseError);
}

}  // namespace
}  // namespace cudaagent::cli
