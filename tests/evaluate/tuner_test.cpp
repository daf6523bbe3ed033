// Tuning against stand-ins of worker and compiler: what is asked of each combination, and what one
// that fails costs. tests/e2e/tune_test.cpp has the real programs.
#include "evaluate/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "util/file.h"

namespace cudaagent::evaluate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Values = std::map<std::string, int64_t>;

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.spec.path = "/model.py";
    config_.cache_dir = folder_.path() + "/cache";
    config_.program_dir = std::string(CUDAAGENT_BIN_DIR) + "/fakes";
    config_.timeouts = {.hello_s = 20,
                        .load_s = 20,
                        .compile_s = 20,
                        .check_s = 20,
                        .time_s = 20,
                        .baseline_s = 20};
    config_.tune.mode = TuneMode::kUntuned;
  }

  // Tunes B over `list`. `words`: what the fakes are told.
  Evaluation Tune(const std::string& list, const std::string& words,
                  const std::string& device = "cpu", const std::string& more = "") {
    config_.device = device;
    MachineView machine;
    machine.exists = [](const std::string& path) { return path == "/dev/nvidiactl"; };
    if (!evaluator_) {
      evaluator_ = std::make_unique<PoolEvaluator>(config_, machine);
      auto started = evaluator_->Start(true);
      EXPECT_TRUE(started) << started.error().message;
      if (!started) return {};
    }
    source_ = "/*cudaagent\n{\"plan\": 1, \"tune\": {\"B\": [" + list + "]}, " + more +
              "\"steps\": [{\"kernel\": \"copy<B>\", \"grid\": [1], \"block\": [\"B\"], "
              "\"args\": [\"$x\", \"$out0\"]}]}\n*/\n// " +
              words + "\ntemplate <int B> __global__ void copy(const float* x, float* y) {}\n";
    auto evaluation = evaluator_->Evaluate(Candidate{source_, "test", ""});
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    return evaluation.value_or(Evaluation{});
  }

  // What the fake worker was asked: value, t = trials, e = eager, iterations.
  std::string Asked() const { return util::ReadTail(folder_.path() + "/log", 4096); }
  std::string Log() const { return " fake: log=" + folder_.path() + "/log "; }

  static const TuningVariant* Row(const Evaluation& e, int64_t b) {
    for (const TuningVariant& row : e.tuning->variants) {
      if (row.values == Values{{"B", b}}) return &row;
    }
    return nullptr;
  }

  util::TempDir folder_ = std::move(*util::TempDir::Create("tuner-test"));
  Config config_;
  std::unique_ptr<PoolEvaluator> evaluator_;
  std::string source_;
};

TEST_F(TunerTest, TheFastestVariantWinsAndEstimatesNeedNoRepeating) {
  const Evaluation e = Tune("1, 2, 4", Log() + "fake: ms@1=3 fake: ms@2=1 fake: ms@4=2");
  EXPECT_EQ(e.verdict, Verdict::kOk);
  ASSERT_TRUE(e.tuning && e.candidate);
  EXPECT_EQ(e.tuning->chosen, (Values{{"B", 2}}));
  EXPECT_EQ(e.candidate->median_ms, 1);
  EXPECT_EQ(e.tuning->tried, 3);
  EXPECT_EQ(e.tuning->verified, 3);
  EXPECT_EQ(Row(e, 4)->median_ms, 2);
  EXPECT_EQ(Asked(), "1te200 2te200 4te200 ");
  EXPECT_EQ(e.candidate_hash.size(), 64u);
}

TEST_F(TunerTest, OnAGpuTheBetterHalfIsTimedLongerAndTheBestLikeAnyCandidate) {
  const Evaluation e =
      Tune("1, 2, 4, 8", Log() + "fake: ms@1=3 fake: ms@2=1 fake: ms@4=2 fake: ms@8=4", "gpu");
  EXPECT_EQ(e.verdict, Verdict::kOk);
  EXPECT_EQ(e.tuning->chosen, (Values{{"B", 2}}));
  EXPECT_EQ(Asked(), "1t-8 2t-8 4t-8 8t-8 2--16 4--16 2te200 ");
  ASSERT_TRUE(e.speedup_eager);
  EXPECT_DOUBLE_EQ(e.speedup_eager->value, 4);
}

TEST_F(TunerTest, AVariantThatFailsDropsOnlyItself) {
  config_.timeouts.check_s = 1;
  const Evaluation e = Tune("1, 2, 3, 4, 5, 6, 7",
                            "fake: no_kernel=copy<2> fake: wrong@3 fake: die@4 fake: hang@5 "
                            "fake: poison@6 fake: ms@1=3 fake: ms@7=1");
  EXPECT_EQ(e.verdict, Verdict::kOk);
  EXPECT_EQ(e.tuning->chosen, (Values{{"B", 7}}));
  EXPECT_EQ(e.tuning->verified, 2);
  EXPECT_EQ(e.tuning->failed, 5);
  EXPECT_EQ(Row(e, 2)->verdict, Verdict::kCompileFailed);
  EXPECT_EQ(Row(e, 3)->verdict, Verdict::kWrongResult);
  EXPECT_EQ(Row(e, 4)->verdict, Verdict::kWorkerCrashed);
  EXPECT_EQ(Row(e, 5)->verdict, Verdict::kTimedOut);
  EXPECT_EQ(Row(e, 6)->verdict, Verdict::kDeviceFault);
  EXPECT_EQ(Row(e, 3)->message, "Off by one.");
  EXPECT_FALSE(Row(e, 3)->median_ms);
}

TEST_F(TunerTest, WhereTheDefaultFailsAnotherVariantMayWin) {
  const Evaluation e = Tune("1, 2", "fake: no_kernel=copy<1>");
  EXPECT_EQ(e.verdict, Verdict::kOk) << e.message;
  EXPECT_EQ(e.tuning->chosen, (Values{{"B", 2}}));
  const Evaluation wrong = Tune("1, 2", "fake: wrong@1");
  EXPECT_EQ(wrong.tuning->chosen, (Values{{"B", 2}}));
  // The default's own condition does not hold: x has 4 elements.
  const Evaluation odd = Tune("3, 2", "", "cpu", "\"require\": [\"x.size(0) % B == 0\"], ");
  EXPECT_EQ(odd.tuning->chosen, (Values{{"B", 2}}));
  EXPECT_EQ(odd.tuning->tried, 1);
}

TEST_F(TunerTest, WhereNoneIsLeftTheDefaultsFaultIsTheVerdictInOneSentence) {
  const Evaluation e = Tune("1, 2, 4", "fake: wrong@1 fake: die@2 fake: no_kernel=copy<4>");
  EXPECT_EQ(e.verdict, Verdict::kWrongResult);
  EXPECT_EQ(e.stage, "check");
  EXPECT_EQ(e.message,
            "Off by one; none of the 2 other combinations of tune values that were tried works "
            "either.");
  EXPECT_EQ(e.tuning->failed, 3);
  EXPECT_TRUE(e.tuning->chosen.empty());
  EXPECT_EQ(e.reward, -1);
}

TEST_F(TunerTest, ACodeThatDoesNotCompileAtAllIsNotTuned) {
  const Evaluation e = Tune("1, 2", "fake: compile_fails");
  EXPECT_EQ(e.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(e.message, "line 7: expected a ;.");
  EXPECT_FALSE(e.tuning);
}

TEST_F(TunerTest, APlanThatNoValueMendsKeepsItsSentence) {
  const Evaluation e = Tune("1, 2", "", "cpu", "\"require\": [\"B > 9\"], ");
  EXPECT_EQ(e.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(e.message, "require[0]: \"B > 9\" is false for this problem with B = 1");
  EXPECT_FALSE(e.tuning);
}

TEST_F(TunerTest, WhatTheCapLeavesOutIsSaid) {
  config_.tune.max_variants = 2;
  const Evaluation e = Tune("1, 2, 4, 8", "");
  EXPECT_EQ(e.tuning->tried, 2);
  EXPECT_EQ(e.tuning->untried, 2);
  EXPECT_EQ(e.tuning->note, "--max-variants 2");
}

TEST_F(TunerTest, TheTimeLimitBinds) {
  config_.tune.limit_s = 0.1;  // the fake says that its stages take 0.75 s
  const Evaluation e = Tune("1, 2, 4", "");
  EXPECT_EQ(e.verdict, Verdict::kOk);
  EXPECT_EQ(e.tuning->tried, 1);
  EXPECT_EQ(e.tuning->untried, 2);
  EXPECT_EQ(e.tuning->note, "--tune-limit 0.1");
}

TEST_F(TunerTest, ValuesThatStandInTunedAreUsedAsTheyAre) {
  const std::string tuned = "\"tuned\": {\"B\": 2}, ";
  const Evaluation e = Tune("1, 2, 4", Log(), "cpu", tuned);
  EXPECT_FALSE(e.tuning);
  EXPECT_EQ(Asked(), "2te200 ");
}

TEST_F(TunerTest, RetuningTriesThemFirst) {
  config_.tune.mode = TuneMode::kAlways;
  const Evaluation e = Tune("1, 2, 4", Log(), "cpu", "\"tuned\": {\"B\": 2}, ");
  ASSERT_TRUE(e.tuning);
  EXPECT_EQ(Asked(), "2te200 1te200 4te200 ");
}

TEST_F(TunerTest, WithoutTuningTheDefaultIsJudgedAlone) {
  config_.tune.mode = TuneMode::kNever;
  EXPECT_FALSE(Tune("1, 2, 4", "").tuning);
}

TEST_F(TunerTest, ABrokenWorkerIsNoVerdictOnAVariant) {
  const Evaluation e = Tune("1, 2", "fake: error");
  EXPECT_EQ(e.verdict, Verdict::kInfraError);
  EXPECT_FALSE(e.tuning);
  EXPECT_FALSE(e.reward);
}

}  // namespace
}  // namespace cudaagent::evaluate
