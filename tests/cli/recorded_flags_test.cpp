#include "cli/recorded_flags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cli/optimize.h"

namespace cudaagent::cli {
namespace {

store::FlagValues Given(std::vector<std::string> words) {
  CLI::App app;
  OptimizeCommand command;
  const CLI::App* sub = AddOptimizeFlags(app, command);
  words.insert(words.begin(), "optimize");
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return GivenFlags(*sub);
}

Result<store::FlagValues> Resumed(const store::FlagValues& recorded,
                                  const std::vector<std::string>& words) {
  CLI::App app;
  OptimizeCommand command;
  return ResumedFlags(*AddOptimizeFlags(app, command), recorded, Given(words));
}

std::string Message(const store::FlagValues& recorded, const std::vector<std::string>& words) {
  auto flags = Resumed(recorded, words);
  return flags ? "no error" : flags.error().message;
}

TEST(RecordedFlagsTest, WhatWasGivenComesBackFromItsRecord) {
  setenv("CUDAAGENT_TRIALS", "3", 1);
  const auto flags = Given({"/m.py", "--const", "a=1", "--const", "b=x y", "-n", "7", "--warm-l2",
                            "--json", "--out", "/r", "--command", "cat '--help' \"$1\""});
  unsetenv("CUDAAGENT_TRIALS");
  OptimizeCommand command;
  auto applied = ApplyFlags(flags, command);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(command.problem.model_path, "/m.py");
  EXPECT_EQ(command.problem.consts, (std::vector<std::string>{"a=1", "b=x y"}));
  EXPECT_EQ(command.search.limits.attempts, 7);
  EXPECT_EQ(command.eval.options.trials, 3);
  EXPECT_TRUE(command.eval.options.warm_l2);
  EXPECT_EQ(command.proposer.command, "cat '--help' \"$1\"");
  EXPECT_FALSE(command.output.json);
  EXPECT_EQ(command.out, "");
  EXPECT_EQ(command.flags, flags);
}

TEST(RecordedFlagsTest, AModelIsRecordedByItsAbsolutePath) {
  EXPECT_EQ(Given({"m.py"}).at("MODEL").front().front(), '/');
}

TEST(RecordedFlagsTest, AContradictionIsNamed) {
  const auto recorded = Given({"/m.py", "--dtype", "float16"});
  EXPECT_NE(
      Message(recorded, {"--dtype", "float32"})
          .find("--dtype contradicts the run: now --dtype float32, the run has --dtype float16"),
      std::string::npos)
      << Message(recorded, {"--dtype", "float32"});
  EXPECT_NE(Message(recorded, {"/other.py"}).find("MODEL contradicts the run"), std::string::npos);
  EXPECT_NE(Message(recorded, {"--precision", "fp32"}).find("the run has --precision tf32"),
            std::string::npos);
  EXPECT_NE(Message(recorded, {"--const", "a=1"}).find("the run has none"), std::string::npos);
  setenv("CUDAAGENT_TIER", "kernelbench", 1);
  EXPECT_NE(Message(recorded, {}).find("--tier (or CUDAAGENT_TIER) contradicts"),
            std::string::npos);
  unsetenv("CUDAAGENT_TIER");
}

TEST(RecordedFlagsTest, WhatAPresetDecidedIsNotUndone) {
  const auto recorded = Given({"/m.py", "--preset", "kernelbench"});
  EXPECT_EQ(Message(recorded, {"--mode", "eval"}),
            "--mode contradicts the run: now --mode eval, the run has what --preset kernelbench "
            "says. Leave it out, or start a new run.");
  EXPECT_EQ(
      Message(Given({"/m.py", "--preset", "kernelbench", "--mode", "eval"}), {"--mode", "eval"}),
      "no error");
}

TEST(RecordedFlagsTest, RepeatingWhatTheRunHasIsNoContradiction) {
  const auto recorded = Given({"/m.py", "--dtype", "float16"});
  EXPECT_EQ(Message(recorded, {"/m.py", "--dtype", "float16", "--precision", "tf32"}), "no error");
}

TEST(RecordedFlagsTest, LimitsMayChangeAndAttemptsMayBeRaised) {
  const auto recorded = Given({"/m.py", "--attempts", "5"});
  EXPECT_EQ(Resumed(recorded, {"--attempts", "12", "--max-time", "2h"})->at("--attempts").front(),
            "12");
  EXPECT_NE(Message(recorded, {"--attempts", "4"}).find("--attempts may only be raised"),
            std::string::npos);
  EXPECT_NE(Message(Given({"/m.py"}), {"--attempts", "4"}).find("the run has 10"),
            std::string::npos);
}

}  // namespace
}  // namespace cudaagent::cli
