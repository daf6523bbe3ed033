// The whole worker on the CPU device, as the driver sees it.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include "worker/process/candidates.h"
#include "worker/process/processes.h"

namespace cudaagent::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHang = SoftmaxKernel("volatile int go = 1; while (go) {}");

void AwaitStage(Program& worker, const std::string& stage) {
  while (auto message = worker.Next()) {
    const auto* note = std::get_if<protocol::StageNote>(&*message);
    if (note && note->stage == stage) return;
  }
  ADD_FAILURE() << "the worker never came to stage " << stage;
}

// One worker with the problem loaded serves all tests that do not hurt it.
class WorkerCpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const util::Stopwatch watch;
    shared_ = std::make_unique<Program>(
        std::vector<std::string>{"cudaagent-worker", "--device", "cpu", "--model-gpu", "h200"});
    hello_ = shared_->Expect<protocol::Hello>();
    std::printf("[ worker start: %.2f s ]\n", watch.Seconds());
    shared_->Send(protocol::ToWorker(protocol::LoadProblem{Softmax()}));
    if (auto reply = shared_->Expect<protocol::ProblemReply>()) problem_ = reply->problem;
  }
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    ASSERT_TRUE(hello_);
    ASSERT_FALSE(problem_.inputs.empty());
    shared_->stages.clear();
  }

  static Evaluation Run(protocol::EvaluateJob job) {
    shared_->Send(protocol::ToWorker(std::move(job)));
    auto reply = shared_->Expect<protocol::EvaluationReply>();
    EXPECT_TRUE(reply && !reply->poisoned);
    return reply ? reply->evaluation : Evaluation{};
  }
  static Evaluation Evaluate(const std::string& source) { return Run(Compiled(source, problem_)); }

  static std::unique_ptr<Program> shared_;
  static std::optional<protocol::Hello> hello_;
  static ProblemInfo problem_;
};

std::unique_ptr<Program> WorkerCpuTest::shared_;
std::optional<protocol::Hello> WorkerCpuTest::hello_;
ProblemInfo WorkerCpuTest::problem_;

TEST_F(WorkerCpuTest, SaysHelloWithItsFacts) {
  EXPECT_EQ(hello_->protocol_version, protocol::kProtocolVersion);
  EXPECT_EQ(hello_->program, "worker");
  EXPECT_EQ(hello_->device.kind, "cpu");
  EXPECT_THAT(hello_->device.name, HasSubstr("H200"));
  EXPECT_EQ(hello_->device.arch, "sm_90a");
  EXPECT_THAT(hello_->device.torch_version, HasSubstr("2."));
  EXPECT_THAT(hello_->python_version, HasSubstr("3."));
  EXPECT_EQ(hello_->pid, shared_->child().pid());
}

TEST_F(WorkerCpuTest, PassesACandidateOfOpsAndEstimatesItLikeEager) {
  const Evaluation evaluation = Evaluate(kOpsOnly);
  EXPECT_EQ(evaluation.verdict, Verdict::kOk) << evaluation.message;
  EXPECT_THAT(shared_->stages, ElementsAre("load", "check", "time"));
  EXPECT_EQ(evaluation.check.trials, 5);
  EXPECT_EQ(evaluation.check.passed, 5);
  EXPECT_EQ(evaluation.check.max_abs_error, 0);
  EXPECT_TRUE(evaluation.estimated);
  ASSERT_TRUE(evaluation.candidate && evaluation.eager && evaluation.speedup_eager);
  EXPECT_EQ(evaluation.candidate->clock, "estimated");
  EXPECT_EQ(evaluation.candidate->samples, 1);
  EXPECT_EQ(evaluation.candidate->ci_low_ms, evaluation.candidate->median_ms);
  EXPECT_DOUBLE_EQ(evaluation.speedup_eager->value, 1);
  EXPECT_EQ(evaluation.own_kernel_share, 0);
  EXPECT_FALSE(evaluation.compiled_baseline);
  EXPECT_EQ(evaluation.protocol.clock, "estimated");
  EXPECT_EQ(evaluation.protocol.tier, "verified");
  EXPECT_EQ(evaluation.protocol.precision, "tf32");
  EXPECT_EQ(evaluation.problem_hash, problem_.hash);
  for (const char* stage : {"parse", "load", "check", "time"}) {
    EXPECT_TRUE(evaluation.seconds.count(stage)) << stage;
  }
}

TEST_F(WorkerCpuTest, PassesARealKernelWithCountersAndResources) {
  const Evaluation evaluation = Evaluate(SoftmaxKernel());
  EXPECT_EQ(evaluation.verdict, Verdict::kOk) << evaluation.message;
  ASSERT_EQ(evaluation.counters.size(), 1u);
  EXPECT_EQ(evaluation.counters[0].launches, 1);
  EXPECT_GT(evaluation.counters[0].global_sectors, 64 * 1024 * 4 / 32);
  EXPECT_GT(evaluation.counters[0].estimated_us, 0);
  EXPECT_EQ(evaluation.own_kernel_share, 1);
  ASSERT_EQ(evaluation.compile.kernels.size(), 1u);
  EXPECT_EQ(evaluation.compile.kernels[0].name, "rows");
  EXPECT_THAT(evaluation.message,
              HasSubstr("Correct in 5 of 5 trials and 6 of 6 hidden variants; estimated"));
}

TEST_F(WorkerCpuTest, TellsWrongResultsWithTheirPattern) {
  const Evaluation ops = Evaluate(kWrongDim);
  EXPECT_EQ(ops.verdict, Verdict::kWrongResult);
  EXPECT_EQ(ops.stage, "check");
  ASSERT_TRUE(ops.check.mismatch);
  EXPECT_FALSE(ops.candidate);
  const Evaluation half = Evaluate(SoftmaxKernel("", "x.size(0) / 2"));
  EXPECT_EQ(half.verdict, Verdict::kWrongResult);
  EXPECT_THAT(half.message, HasSubstr("all rows after 31 are NaN: they were never written"));
  EXPECT_EQ(half.check.mismatch->differing, 32 * 1024);
  const Evaluation twice =
      Evaluate(SoftmaxKernel("for (int i = t; i < n; i += 256) out[i] *= 2.f;"));
  EXPECT_EQ(twice.verdict, Verdict::kWrongResult);
  EXPECT_THAT(twice.message, HasSubstr("all elements are off by the constant factor 2.000"));
}

TEST_F(WorkerCpuTest, GivesEachKindOfFaultItsVerdictAndServesOn) {
  EXPECT_EQ(Evaluate(SoftmaxKernel("if (r == rows_total - 1 && t == 0) out[n] = 0.f;")).verdict,
            Verdict::kOutOfBounds);
  EXPECT_EQ(Evaluate(SoftmaxKernel("if (t == 0 && r == 0) *(volatile float*)8 = 1.f;")).verdict,
            Verdict::kOutOfBounds);
  EXPECT_EQ(Evaluate(SoftmaxKernel("if (r == 3) asm volatile(\"trap;\");")).verdict,
            Verdict::kDeviceFault);
  EXPECT_EQ(Evaluate(kOpsOnly).verdict, Verdict::kOk);
}

TEST_F(WorkerCpuTest, EndsAHangByTheInstructionBudget) {
  protocol::EvaluateJob job = Compiled(kHang, problem_);
  job.options.instruction_budget = 200'000'000;
  const Evaluation hung = Run(job);
  EXPECT_EQ(hung.verdict, Verdict::kTimedOut) << hung.message;
  EXPECT_EQ(Evaluate(kOpsOnly).verdict, Verdict::kOk);
}

TEST_F(WorkerCpuTest, CallsABadPlanABadCandidate) {
  protocol::EvaluateJob job;
  job.source = "no plan at all";
  const Evaluation none = Run(job);
  EXPECT_EQ(none.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(none.stage, "parse");
  job.source = R"(/*cudaagent
{ "plan": 1, "steps": [ {"op": "aten::softmax.int", "args": ["$y", 1], "out": "out0"} ] }
*/)";
  const Evaluation unknown = Run(job);
  EXPECT_EQ(unknown.verdict, Verdict::kBadCandidate) << unknown.message;
  EXPECT_THAT(unknown.message, HasSubstr("y"));
}

TEST_F(WorkerCpuTest, OnlyChecksWhereAskedTo) {
  protocol::EvaluateJob job = Compiled(kOpsOnly, problem_);
  job.options.check_only = true;
  job.options.trials = 2;
  const Evaluation evaluation = Run(job);
  EXPECT_EQ(evaluation.verdict, Verdict::kOk);
  EXPECT_EQ(evaluation.check.passed, 2);
  EXPECT_FALSE(evaluation.candidate);
  EXPECT_FALSE(evaluation.estimated);
  EXPECT_THAT(shared_->stages, ElementsAre("load", "check"));
}

TEST_F(WorkerCpuTest, GivesEveryFaultyKernelItsVerdict) {
  shared_->Send(protocol::ToWorker(protocol::LoadProblem{ScalarTimesMatrix()}));
  const auto reply = shared_->Expect<protocol::ProblemReply>();
  ASSERT_TRUE(reply);
  const std::map<std::string, Verdict> wanted = {
      {"correct", Verdict::kOk},           {"wrong", Verdict::kWrongResult},
      {"hanging", Verdict::kTimedOut},     {"out_of_bounds_by_one", Verdict::kOutOfBounds},
      {"crashing", Verdict::kDeviceFault}, {"plan_invalid", Verdict::kBadCandidate}};
  for (const auto& [name, verdict] : wanted) {
    const std::string source =
        ReadText(std::string(CUDAAGENT_SOURCE_DIR) + "/kernels/faulty/" + name + ".cu");
    protocol::EvaluateJob job;
    job.source = source;  // an invalid plan is not compiled
    if (verdict != Verdict::kBadCandidate) job = Compiled(source, reply->problem);
    job.options.instruction_budget = 200'000'000;
    const Evaluation evaluation = Run(job);
    EXPECT_EQ(evaluation.verdict, verdict) << name << ": " << evaluation.message;
    std::printf("[ %s: %s ]\n", name.c_str(), evaluation.message.c_str());
  }
  shared_->Send(protocol::ToWorker(protocol::LoadProblem{Softmax()}));
  ASSERT_TRUE(shared_->Expect<protocol::ProblemReply>());
}

TEST_F(WorkerCpuTest, SaysThatItTimesNoTorchCompile) {
  shared_->Send(protocol::ToWorker(protocol::BaselineJob{}));
  const auto reply = shared_->Expect<protocol::BaselineReply>();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->ok);
  EXPECT_THAT(reply->message, HasSubstr("on a GPU only"));
}

TEST_F(WorkerCpuTest, AnswersAProblemAtFaultAndLoadsTheNext) {
  Program& worker = *shared_;
  ProblemSpec broken = Softmax();
  broken.source = "class Model:\n  this is no Python\n";
  worker.Send(protocol::ToWorker(protocol::LoadProblem{broken}));
  auto message = worker.Next();
  ASSERT_TRUE(message && std::holds_alternative<protocol::StageNote>(*message));
  message = worker.Next();
  ASSERT_TRUE(message && std::holds_alternative<protocol::ErrorReply>(*message));
  EXPECT_EQ(std::get<protocol::ErrorReply>(*message).error.code, ErrorCode::kUsage);

  protocol::EvaluateJob early;
  early.source = kOpsOnly;
  worker.Send(protocol::ToWorker(early));
  message = worker.Next();
  ASSERT_TRUE(message && std::holds_alternative<protocol::ErrorReply>(*message));

  worker.Send(protocol::ToWorker(protocol::LoadProblem{Softmax("16", "64")}));
  auto small = worker.Expect<protocol::ProblemReply>();
  ASSERT_TRUE(small);
  EXPECT_EQ(small->problem.inputs.at(0).shape, (std::vector<int64_t>{16, 64}));
  EXPECT_EQ(Run(Compiled(kOpsOnly, small->problem)).verdict, Verdict::kOk);

  worker.Send(protocol::ToWorker(protocol::LoadProblem{Softmax()}));
  ASSERT_TRUE(worker.Expect<protocol::ProblemReply>());
}

int64_t ResidentKib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (file >> word) {
    if (word == "VmRSS:") {
      int64_t kib = 0;
      file >> kib;
      return kib;
    }
  }
  return 0;
}

TEST_F(WorkerCpuTest, KeepsItsMemoryFlatOverFiftyEvaluations) {
  const protocol::EvaluateJob ops = Compiled(kOpsOnly, problem_);
  const protocol::EvaluateJob kernel = Compiled(SoftmaxKernel(), problem_);
  const auto round = [&](int evaluations) {
    for (int i = 0; i < evaluations; ++i) {
      protocol::EvaluateJob job = i % 2 == 0 ? ops : kernel;
      job.options.trials = 1;
      ASSERT_EQ(Run(job).verdict, Verdict::kOk);
    }
  };
  round(10);
  const int64_t before = ResidentKib(shared_->child().pid());
  round(50);
  const int64_t after = ResidentKib(shared_->child().pid());
  ASSERT_GT(before, 0);
  EXPECT_LT(after, before * 105 / 100) << before << " KiB, then " << after << " KiB";
}

TEST_F(WorkerCpuTest, EndsAtGarbageWithStatusThree) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string("\2\0\0\0{}", 6)}) {
    Program worker({"cudaagent-worker", "--device", "cpu"});
    ASSERT_TRUE(worker.Expect<protocol::Hello>());
    worker.SendBytes(bytes);
    const auto death = worker.child().Wait(30);
    ASSERT_TRUE(death);
    EXPECT_EQ(death->code, 3);
  }
}

TEST_F(WorkerCpuTest, WaitsAsASpareForTheFirstMessageAndShutsDownWithStatusZero) {
  Program spare({"cudaagent-worker", "--device", "cpu", "--spare"});
  EXPECT_FALSE(spare.Next(8));  // imports, says nothing
  spare.Send(protocol::ToWorker(protocol::LoadProblem{Softmax("8", "32")}));
  EXPECT_TRUE(spare.Expect<protocol::Hello>());
  EXPECT_TRUE(spare.Expect<protocol::ProblemReply>());
  spare.Send(protocol::ToWorker(protocol::Shutdown{}));
  const auto death = spare.child().Wait(30);
  ASSERT_TRUE(death);
  EXPECT_FALSE(death->signalled);
  EXPECT_EQ(death->code, 0);
}

TEST_F(WorkerCpuTest, ExitsWhenItsSocketClosesInTheMiddleOfAKernel) {
  const protocol::EvaluateJob hang = Compiled(kHang, problem_);
  Program worker({"cudaagent-worker", "--device", "cpu"});
  ASSERT_TRUE(worker.Expect<protocol::Hello>());
  worker.Send(protocol::ToWorker(protocol::LoadProblem{Softmax()}));
  ASSERT_TRUE(worker.Expect<protocol::ProblemReply>());
  worker.Send(protocol::ToWorker(hang));
  AwaitStage(worker, "check");
  worker.child().CloseSocket();
  const auto death = worker.child().Wait(5);
  ASSERT_TRUE(death);
  EXPECT_FALSE(death->signalled);
  EXPECT_EQ(death->code, 0);
}

// Run as a process of its own by the test below: a driver whose worker is inside a kernel.
TEST(DriverProcess, DISABLED_HoldsAWorkerInAKernel) {
  Program worker({"cudaagent-worker", "--device", "cpu"});
  (void)worker.Expect<protocol::Hello>();
  worker.Send(protocol::ToWorker(protocol::LoadProblem{Softmax()}));
  const auto problem = worker.Expect<protocol::ProblemReply>();
  ASSERT_TRUE(problem);
  worker.Send(protocol::ToWorker(Compiled(kHang, problem->problem)));
  AwaitStage(worker, "check");
  const std::string pid = std::to_string(worker.child().pid());
  ASSERT_TRUE(protocol::WriteFrame(3, pid));
  pause();
}

TEST_F(WorkerCpuTest, DiesWithItsDriverAlsoInTheMiddleOfAKernel) {
  auto driver =
      util::Subprocess::Spawn({{"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                "--gtest_filter=DriverProcess.DISABLED_HoldsAWorkerInAKernel"},
                               ChildEnvironment(),
                               testing::TempDir() + "cudaagent_worker_test_driver.log",
                               ""});
  ASSERT_TRUE(driver);
  const auto read = protocol::ReadFrame(driver->socket(), util::Deadline::After(240).at());
  ASSERT_EQ(read.status, protocol::ReadStatus::kFrame);
  const pid_t worker = std::stoi(read.payload);
  ASSERT_EQ(kill(worker, 0), 0);
  kill(driver->pid(), SIGKILL);  // the driver alone, not its group
  // The orphan may stay a zombie where nobody reaps it: dead is dead.
  const auto alive = [&] {
    const std::string stat = ReadText("/proc/" + std::to_string(worker) + "/stat");
    return !stat.empty() && stat.find(") Z") == std::string::npos;
  };
  const util::Deadline deadline = util::Deadline::After(5);
  while (alive() && !deadline.Passed()) usleep(20'000);
  EXPECT_FALSE(alive());
}

TEST(WorkerStartTest, RefusesWrongArgumentsWithStatusTwo) {
  Program worker({"cudaagent-worker", "--device", "tpu"});
  const auto death = worker.child().Wait(10);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->code, 2);
  EXPECT_THAT(worker.Log(), HasSubstr("--device is \"tpu\""));
}

TEST(WorkerStartTest, SaysThatThereIsNoGpuWithStatusSix) {
  Program worker({"cudaagent-worker", "--device", "gpu:63"});
  const auto death = worker.child().Wait(120);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->code, 6);
}

}  // namespace
}  // namespace cudaagent::worker
