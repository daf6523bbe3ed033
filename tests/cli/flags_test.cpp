#include "cli/flags.h"

#include <gtest/gtest.h>

#include "util/file.h"

namespace cudaagent::cli {
namespace {

class FlagsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("flags");
    ASSERT_TRUE(temp);
    temp_ = std::move(*temp);
    flags_.model_path = temp_.path() + "/model.py";
    ASSERT_TRUE(util::WriteFileAtomic(flags_.model_path, "class Model: pass\n"));
  }
  std::string Message() {
    auto spec = ToSpec(flags_);
    return spec ? "no error" : spec.error().message;
  }
  util::TempDir temp_;
  ProblemFlags flags_;
};

TEST_F(FlagsTest, ConstsBecomePartOfTheSpec) {
  flags_.consts = {"dim=1024", "name=\"a=b\""};
  auto spec = ToSpec(flags_);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->consts.at("dim"), "1024");
  EXPECT_EQ(spec->consts.at("name"), "\"a=b\"");
  EXPECT_EQ(spec->path, flags_.model_path);
}

TEST_F(FlagsTest, AConstThatIsNoAssignmentSaysHowToWriteOne) {
  for (const char* text : {"dim", "=3", "2x=3", "a b=3"}) {
    flags_.consts = {text};
    EXPECT_NE(Message().find("is not NAME=VALUE"), std::string::npos) << text;
  }
}

TEST_F(FlagsTest, ANumberThatIsNoneLiesWithinNoRange) {
  const CLI::Validator within = Within(0.1, 600.0);
  EXPECT_EQ(within(std::string("0.1")), "");
  EXPECT_EQ(within(std::string("nan")), "nan is not a number from 0.1 to 600");
  EXPECT_EQ(within(std::string("inf")), "inf is not a number from 0.1 to 600");
  EXPECT_EQ(within(std::string("x")), "x is not a number from 0.1 to 600");
}

TEST_F(FlagsTest, AConstGivenTwiceIsRefused) {
  flags_.consts = {"dim=1", "dim=2"};
  EXPECT_EQ(Message(), "--const gives dim twice. Give it once.");
}

TEST_F(FlagsTest, AMissingModelIsAUsageErrorThatNamesIt) {
  flags_.model_path = temp_.path() + "/nothing.py";
  auto spec = ToSpec(flags_);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, ErrorCode::kUsage);
  EXPECT_NE(spec.error().message.find("nothing.py"), std::string::npos);
}

TEST_F(FlagsTest, TheRecheckCommandNamesWhatDiffersFromTheDefaults) {
  flags_.consts = {"dim=1024"};
  flags_.precision = "fp32";
  auto spec = ToSpec(flags_);
  ASSERT_TRUE(spec);
  EvalFlags eval;
  eval.options.tier = "kernelbench";
  eval.options.guard = "strict";
  eval.no_race_check = true;
  const std::vector<std::string> words = RecheckCommand(*spec, flags_, eval);
  const std::vector<std::string> tail(words.begin() + 1, words.end());
  EXPECT_EQ(tail, (std::vector<std::string>{"eval", flags_.model_path, "--const", "dim=1024",
                                            "--precision", "fp32", "--tier", "kernelbench",
                                            "--guard", "strict", "--no-race-check"}));
}

}  // namespace
}  // namespace cudaagent::cli
