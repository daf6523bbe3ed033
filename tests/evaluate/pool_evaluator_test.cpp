#include "evaluate/pool_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace cudaagent::evaluate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

MachineView WithGpu() {
  MachineView machine;
  machine.exists = [](const std::string& path) { return path == "/dev/nvidiactl"; };
  return machine;
}

class PoolEvaluatorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    evaluator_.reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

  // `model`: what the fake worker is told with the problem.
  Result<void> Start(const std::string& model = "", const std::string& device = "cpu") {
    config_.spec.path = "/model.py";
    config_.spec.source = model;
    config_.device = device;
    config_.cache_dir = folder_.path() + "/cache";
    config_.program_dir = std::string(CUDAAGENT_BIN_DIR) + "/fakes";
    config_.timeouts = {.hello_s = 20,
                        .load_s = 20,
                        .compile_s = 20,
                        .check_s = check_s_,
                        .time_s = 20,
                        .baseline_s = baseline_s_};
    config_.progress = [this](const std::string& line) { progress_.push_back(line); };
    evaluator_ = std::make_unique<PoolEvaluator>(config_, WithGpu());
    if (auto started = evaluator_->Start(true); !started) return started;
    return evaluator_->PrepareBaseline();
  }

  // `words`: what the fakes are told with the candidate.
  static Candidate CandidateOf(const std::string& words) {
    return Candidate{
        "/*cudaagent\n{\"plan\": 1, \"steps\": [{\"kernel\": \"copy\", \"grid\": [1], \"block\": "
        "[4], \"args\": [\"$x\", \"$out0\"]}]}\n*/\n// " +
            words +
            "\n__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; "
            "}\n",
        "test", ""};
  }
  Result<Evaluation> Run(const std::string& words = "") {
    return evaluator_->Evaluate(CandidateOf(words));
  }

  Evaluation MustRun(const std::string& words = "") {
    Result<Evaluation> evaluation = Run(words);
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    return evaluation.value_or(Evaluation{});
  }

  void Touch(const std::string& name) { std::ofstream(folder_.path() + "/" + name) << "x"; }
  std::string Path(const std::string& name) { return folder_.path() + "/" + name; }

  util::TempDir folder_ = std::move(*util::TempDir::Create("evaluator-test"));
  Config config_;
  double check_s_ = 20;
  double baseline_s_ = 20;
  std::vector<std::string> progress_;
  std::unique_ptr<PoolEvaluator> evaluator_;
};

TEST_F(PoolEvaluatorTest, WhatTheProposerKnowsToBeNoCandidateIsItsVerdict) {
  ASSERT_TRUE(Start());
  Candidate candidate{"I would rather not.", "test", ""};
  candidate.fault = Fault{Verdict::kBadCandidate, "The model refused to answer (refusal)."};
  const auto e = evaluator_->Evaluate(candidate);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kBadCandidate);
  EXPECT_EQ(e->message, "The model refused to answer (refusal).");
  EXPECT_EQ(e->stage, "propose");
  EXPECT_FALSE(e->compile.attempted);
  EXPECT_EQ(e->reward, -1);
}

TEST_F(PoolEvaluatorTest, AGoodCandidateIsCompiledCheckedTimedAndRewarded) {
  ASSERT_TRUE(Start());
  const Evaluation e = MustRun();
  EXPECT_EQ(e.verdict, Verdict::kOk);
  EXPECT_EQ(e.message, "All fine.");
  EXPECT_EQ(e.problem_hash, "problem");
  EXPECT_EQ(e.candidate_hash.size(), 64u);
  EXPECT_TRUE(e.compile.attempted);
  EXPECT_EQ(e.compile.log, "a log");
  EXPECT_EQ(e.device.arch, "sm_90a");
  EXPECT_EQ(e.device.nvrtc_version, "13.0");
  ASSERT_TRUE(e.speedup_eager);
  EXPECT_DOUBLE_EQ(e.speedup_eager->value, 4);
  EXPECT_EQ(e.reward, 2);
  EXPECT_EQ(e.reward_name, "milestone");
  EXPECT_EQ(e.protocol.precision, "tf32");
  for (const char* stage : {"parse", "compile", "check", "time"})
    EXPECT_EQ(e.seconds.count(stage), 1u);
}

TEST_F(PoolEvaluatorTest, ABadPlanNeedsNeitherCompilerNorWorker) {
  ASSERT_TRUE(Start());
  const Result<Evaluation> e = evaluator_->Evaluate(Candidate{"no plan", "test", ""});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->verdict, Verdict::kBadCandidate);
  EXPECT_EQ(e->stage, "parse");
  EXPECT_FALSE(e->compile.attempted);
  EXPECT_EQ(e->reward, -1);
}

TEST_F(PoolEvaluatorTest, ACompilersRefusalIsTheVerdict) {
  ASSERT_TRUE(Start());
  const Evaluation e = MustRun("fake: compile_fails");
  EXPECT_EQ(e.verdict, Verdict::kCompileFailed);
  EXPECT_EQ(e.message, "line 7: expected a ;.");
  EXPECT_EQ(e.stage, "compile");
}

TEST_F(PoolEvaluatorTest, ArgumentsAreCheckedAgainstTheCompiledSignature) {
  ASSERT_TRUE(Start());
  const Evaluation e = MustRun("fake: odd_signature");
  EXPECT_EQ(e.verdict, Verdict::kBadCandidate);
  EXPECT_THAT(e.message, HasSubstr("steps[0]"));
  EXPECT_THAT(e.message, HasSubstr("copy"));
}

TEST_F(PoolEvaluatorTest, ACrashInAFreshWorkerIsBlamedAtOnce) {
  ASSERT_TRUE(Start());
  const Evaluation e = MustRun("fake: die");
  EXPECT_EQ(e.verdict, Verdict::kWorkerCrashed);
  EXPECT_EQ(e.message,
            "A fresh worker was killed by signal 11 (SIGSEGV) in stage check while it ran this "
            "candidate.");
  EXPECT_EQ(e.stage, "check");
  EXPECT_EQ(MustRun().verdict, Verdict::kOk);
}

TEST_F(PoolEvaluatorTest, ACrashAfterEarlierJobsIsConfirmedInAFreshWorker) {
  ASSERT_TRUE(Start());
  MustRun();
  const Evaluation e = MustRun("fake: die");
  EXPECT_EQ(e.verdict, Verdict::kWorkerCrashed);
  EXPECT_EQ(e.message,
            "Two workers ended while they ran this candidate; the second, a fresh one, was killed "
            "by signal 11 (SIGSEGV) in stage check.");
}

TEST_F(PoolEvaluatorTest, ACrashThatAFreshWorkerDoesNotRepeatIsNoVerdict) {
  ASSERT_TRUE(Start());
  MustRun();
  EXPECT_EQ(MustRun("fake: served_die").verdict, Verdict::kOk);
  EXPECT_THAT(progress_, Contains(HasSubstr("trying the candidate once more in a fresh one")));
}

TEST_F(PoolEvaluatorTest, AHangIsKilledAndTheNextCandidateRuns) {
  check_s_ = 0.5;
  ASSERT_TRUE(Start());
  const Evaluation e = MustRun("fake: hang");
  EXPECT_EQ(e.verdict, Verdict::kTimedOut);
  EXPECT_EQ(e.message, "The candidate did not finish within 500 ms in stage check and was killed.");
  EXPECT_EQ(e.stage, "check");
  EXPECT_EQ(e.reward, -1);
  EXPECT_EQ(MustRun().verdict, Verdict::kOk);
}

TEST_F(PoolEvaluatorTest, WhereCompileTakesTooLongEagerDecides) {
  baseline_s_ = 0.2;
  ASSERT_TRUE(Start("fake: baseline_hangs", "gpu"));
  EXPECT_EQ(MustRun().protocol.note, "torch.compile took longer than 200 ms: eager decides");
}

TEST_F(PoolEvaluatorTest, APoisonedWorkerIsReplaced) {
  ASSERT_TRUE(Start());
  const Evaluation before = MustRun();
  const Evaluation poisoned = MustRun("fake: poison");
  EXPECT_EQ(poisoned.verdict, Verdict::kDeviceFault);
  EXPECT_EQ(poisoned.check.notes, before.check.notes);
  const Evaluation after = MustRun();
  EXPECT_EQ(after.verdict, Verdict::kOk);
  EXPECT_NE(after.check.notes, before.check.notes);
}

TEST_F(PoolEvaluatorTest, ThreeSetUpFailuresInARowEndTheRun) {
  ASSERT_TRUE(Start("fake: load_dies_if=" + Path("broken")));
  Touch("broken");
  EXPECT_EQ(MustRun("fake: die").verdict, Verdict::kWorkerCrashed);
  const Result<Evaluation> e = Run();
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(
      e.error().message,
      "The worker could not be started again, three times in a row. The last time: The worker "
      "exited with status 1 while it loaded the problem.");
}

TEST_F(PoolEvaluatorTest, OneSetUpFailureIsForgiven) {
  ASSERT_TRUE(Start("fake: load_dies_if=" + Path("broken")));
  Touch("broken");
  MustRun("fake: die");  // starts the next worker, which dies loading
  ::usleep(300'000);
  ::unlink(Path("broken").c_str());
  EXPECT_EQ(MustRun().verdict, Verdict::kOk);
}

TEST_F(PoolEvaluatorTest, ThreeInfraErrorsInARowEndTheRun) {
  ASSERT_TRUE(Start());
  const Evaluation first = MustRun("fake: error");
  EXPECT_EQ(first.verdict, Verdict::kInfraError);
  EXPECT_FALSE(first.reward);
  MustRun();
  MustRun("fake: compiler_broken");
  MustRun("fake: error");
  const Result<Evaluation> third = Run("fake: error");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(third.error().message, HasSubstr("The last one: out of memory."));
}

TEST_F(PoolEvaluatorTest, TheUsersOwnMistakeComesBackAsItIs) {
  const Result<void> started = Start("fake: load_error");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUsage);
  EXPECT_EQ(started.error().message, "model.py, line 3: no.");
}

TEST_F(PoolEvaluatorTest, AMissingProgramIsNamed) {
  config_.program_dir = folder_.path();
  config_.spec.path = "/model.py";
  config_.device = "cpu";
  const auto evaluator = StartEvaluator(config_);
  ASSERT_FALSE(evaluator);
  EXPECT_EQ(evaluator.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(evaluator.error().message, HasSubstr("cudaagent-worker is missing."));
}

TEST_F(PoolEvaluatorTest, AnUnknownRewardIsRefusedWithTheNearest) {
  config_.reward = "milestones";
  const Result<void> started = Start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUsage);
  EXPECT_THAT(started.error().message, HasSubstr("Did you mean \"milestone\"?"));
}

TEST_F(PoolEvaluatorTest, TheCompileBaselineIsMeasuredOnceAndScaledByEagersDrift) {
  const std::string model = "fake: count_baselines=" + Path("count");
  ASSERT_TRUE(Start(model, "gpu"));
  evaluator_.reset();
  ASSERT_TRUE(Start(model, "gpu"));
  EXPECT_EQ(util::ReadTail(Path("count"), 10), "b");
  EXPECT_THAT(progress_, Contains("torch.compile's time is known from an earlier run"));
  // The cache says eager 4 ms, compiled 2 ms. Eager takes 6 ms now, so compiled would take 3.
  const Evaluation e = MustRun("fake: eager_ms=6");
  EXPECT_EQ(e.protocol.baseline, "compile");
  ASSERT_TRUE(e.compiled_baseline && e.speedup_compile);
  EXPECT_NEAR(e.compiled_baseline->median_ms, 3, 1e-9);
  EXPECT_NEAR(e.speedup_compile->value, 3, 1e-9);
  EXPECT_EQ(e.reward, 3);
}

TEST_F(PoolEvaluatorTest, AConfirmationHasAWorkerSeedsAndABaselineOfItsOwn) {
  config_.options.seed = 7;
  ASSERT_TRUE(Start("", "gpu"));
  const Candidate candidate = CandidateOf("");
  const Evaluation first = *evaluator_->Evaluate(candidate);
  const Evaluation again = *evaluator_->Evaluate(candidate);
  EXPECT_TRUE(first.protocol.fresh_worker);
  EXPECT_FALSE(again.protocol.fresh_worker);
  EXPECT_EQ(again.check.notes[0], first.check.notes[0]) << "one process for both";
  EXPECT_EQ(first.check.notes[2], "seed 7");
  // The cached figures say that torch.compile takes 2 ms.
  EXPECT_NEAR(first.speedup_compile->value, 2, 1e-9);

  const Result<Evaluation> confirmed = evaluator_->Confirm(candidate);
  ASSERT_TRUE(confirmed) << confirmed.error().message;
  EXPECT_TRUE(confirmed->protocol.fresh_worker);
  EXPECT_NE(confirmed->check.notes[0], first.check.notes[0]) << "the same process";
  EXPECT_NE(confirmed->check.notes[2], "seed 7");
  EXPECT_EQ(confirmed->speedup_compile->value, 3.5) << "they took turns";
}

TEST_F(PoolEvaluatorTest, WhatIsWrongInAFreshWorkerIsNotConfirmed) {
  ASSERT_TRUE(Start("", "gpu"));
  const Candidate candidate = CandidateOf("fake: wrong_when_confirmed");
  EXPECT_EQ(evaluator_->Evaluate(candidate)->verdict, Verdict::kOk);
  EXPECT_EQ(evaluator_->Confirm(candidate)->verdict, Verdict::kWrongResult);
}

TEST_F(PoolEvaluatorTest, TheFastestBaselineDecidesWhereThatIsAskedFor) {
  config_.baseline = "best";
  config_.all_baselines = true;
  ASSERT_TRUE(Start("", "gpu"));
  const Evaluation e = MustRun();
  EXPECT_EQ(e.protocol.baseline, "compile");
  EXPECT_EQ(e.protocol.compile_mode, "max-autotune");
  EXPECT_EQ(e.baselines.size(), 3u);
  EXPECT_NEAR(e.speedup_compile->value, 1, 1e-9);
}

TEST_F(PoolEvaluatorTest, WhereCompileFailsEagerDecidesAndTheStampSaysSo) {
  ASSERT_TRUE(Start("fake: baseline_fails", "gpu"));
  const Evaluation e = MustRun();
  EXPECT_EQ(e.protocol.baseline, "eager");
  EXPECT_EQ(e.protocol.note, "torch.compile failed (graph break): eager decides");
  EXPECT_FALSE(e.speedup_compile);
}

TEST_F(PoolEvaluatorTest, WhereCompileKillsTheWorkerEagerDecidesInAFreshOne) {
  ASSERT_TRUE(Start("fake: baseline_dies", "gpu"));
  const Evaluation e = MustRun();
  EXPECT_EQ(e.verdict, Verdict::kOk);
  EXPECT_EQ(e.protocol.note,
            "the worker was killed by signal 6 (SIGABRT) in torch.compile: eager decides");
}

TEST_F(PoolEvaluatorTest, OnTheCpuDeviceEagerDecides) {
  ASSERT_TRUE(Start());
  EXPECT_EQ(MustRun().protocol.note, "torch.compile is not timed on the CPU device: eager decides");
}

TEST_F(PoolEvaluatorTest, TheSpareTakesOverAfterACrash) {
  ASSERT_TRUE(Start("", "gpu"));
  EXPECT_THAT(MustRun().check.notes, Contains("no spare"));
  MustRun("fake: poison");
  EXPECT_THAT(MustRun().check.notes, Contains("a spare"));
}

}  // namespace
}  // namespace cudaagent::evaluate
