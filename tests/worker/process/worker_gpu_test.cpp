// The whole worker on a GPU, as the driver sees it. Skipped where there is none.
#include <gmock/gmock.h>

#include <memory>

#include "worker/process/candidates.h"
#include "worker/process/processes.h"

namespace cudaagent::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Every test has a worker of its own: faults on a GPU end it.
class WorkerGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    worker_ = std::make_unique<Program>(
        std::vector<std::string>{"cudaagent-worker", "--device", "gpu:0"});
    auto first = worker_->Next();
    if (!first) {
      const auto death = worker_->child().Wait(10);
      if (death && death->code == 6) GTEST_SKIP() << "no usable GPU: " << worker_->Log();
      FAIL() << worker_->Log();
    }
    hello_ = std::get<protocol::Hello>(*first);
    worker_->Send(protocol::ToWorker(protocol::LoadProblem{Softmax("4096", "4096")}));
    auto reply = worker_->Expect<protocol::ProblemReply>();
    ASSERT_TRUE(reply);
    problem_ = reply->problem;
  }

  std::optional<protocol::EvaluationReply> Evaluate(const std::string& source) {
    worker_->Send(protocol::ToWorker(Compiled(source, problem_, hello_.device.arch)));
    return worker_->Expect<protocol::EvaluationReply>();
  }
  Evaluation Good(const std::string& source) {
    auto reply = Evaluate(source);
    EXPECT_TRUE(reply && !reply->poisoned);
    return reply ? reply->evaluation : Evaluation{};
  }
  // The fault of a candidate after which the worker must be gone, or must serve on.
  Verdict VerdictOf(const std::string& source) {
    auto reply = Evaluate(source);
    if (!reply) return Verdict::kInfraError;
    if (reply->poisoned) {
      const auto death = worker_->child().Wait(30);
      EXPECT_TRUE(death && death->code == 9);
    } else {
      EXPECT_EQ(Good(kOpsOnly).verdict, Verdict::kOk);
    }
    return reply->evaluation.verdict;
  }

  std::unique_ptr<Program> worker_;
  protocol::Hello hello_;
  ProblemInfo problem_;
};

TEST_F(WorkerGpuTest, TimesAKernelAndEagerByTurns) {
  EXPECT_EQ(hello_.device.kind, "gpu");
  EXPECT_THAT(hello_.device.uuid, HasSubstr("GPU-"));
  const Evaluation evaluation = Good(SoftmaxKernel());
  EXPECT_EQ(evaluation.verdict, Verdict::kOk) << evaluation.message;
  EXPECT_THAT(worker_->stages, ElementsAre("load", "load", "check", "time"));
  EXPECT_FALSE(evaluation.estimated);
  EXPECT_TRUE(evaluation.protocol.graph) << evaluation.protocol.note;
  ASSERT_TRUE(evaluation.candidate && evaluation.eager && evaluation.speedup_eager);
  EXPECT_GE(evaluation.candidate->samples, 10);
  EXPECT_LE(evaluation.candidate->ci_low_ms, evaluation.candidate->median_ms);
  // 128 MiB moved at no more than 8 TB/s, and no slower than 100 GB/s.
  EXPECT_GT(evaluation.candidate->median_ms, 0.016);
  EXPECT_LT(evaluation.candidate->median_ms, 1.4);
  if (evaluation.own_kernel_share) EXPECT_GT(*evaluation.own_kernel_share, 0.99);
}

TEST_F(WorkerGpuTest, CheckingAloneCapturesAndWeighsThePlanToo) {
  protocol::EvaluateJob job = Compiled(R"plan(/*cudaagent
{"plan": 1, "buffers": {"spare": {"dtype": "float32", "shape": ["x.size(0)", "x.size(1)"]}},
 "steps": [{"op": "aten::exp", "args": ["$x"], "out": "e"},
           {"op": "aten::copy_", "args": ["$spare", "$e"]},
           {"op": "aten::softmax.int", "args": ["$x", 1], "out": "out0"}]}
*/)plan",
                                       problem_, hello_.device.arch);
  job.options.check_only = true;
  worker_->Send(protocol::ToWorker(job));
  const auto reply = worker_->Expect<protocol::EvaluationReply>();
  ASSERT_TRUE(reply);
  const Evaluation& evaluation = reply->evaluation;
  EXPECT_EQ(evaluation.verdict, Verdict::kOk) << evaluation.message;
  EXPECT_TRUE(evaluation.protocol.graph) << evaluation.protocol.note;
  EXPECT_FALSE(evaluation.candidate);
  // The buffer is there always; e is gone before out0 comes.
  ASSERT_TRUE(evaluation.extra_bytes);
  const int64_t tensor = int64_t{4096} * 4096 * 4;
  EXPECT_GE(*evaluation.extra_bytes, tensor);
  EXPECT_LE(*evaluation.extra_bytes, tensor + (2 << 20));
}

TEST_F(WorkerGpuTest, TimesTheSameOperatorLikeEager) {
  const Evaluation evaluation = Good(kOpsOnly);
  EXPECT_EQ(evaluation.verdict, Verdict::kOk) << evaluation.message;
  ASSERT_TRUE(evaluation.speedup_eager);
  EXPECT_NEAR(evaluation.speedup_eager->value, 1, 0.2);
}

TEST_F(WorkerGpuTest, TellsWhatTheInterpreterLookedAt) {
  const Evaluation evaluation = Good(SoftmaxKernel());
  ASSERT_EQ(evaluation.verdict, Verdict::kOk) << evaluation.message;
  ASSERT_TRUE(evaluation.check.races);
  EXPECT_EQ(evaluation.check.races->kernels, 1);
  EXPECT_EQ(evaluation.check.races->launches, 1);
  EXPECT_GE(evaluation.check.races->blocks, 8);
  EXPECT_LT(evaluation.check.races->seconds, 2);
  EXPECT_THAT(evaluation.check.races->remarks, testing::IsEmpty());
}

// The second reduction writes what slow warps may still read of the first: 16 iterations lie
// between, so the results are right.
TEST_F(WorkerGpuTest, FindsARaceThatItsOwnScheduleHides) {
  std::string racy = SoftmaxKernel();
  const std::string barrier = "  __syncthreads();\n  for (int d";
  racy.replace(racy.find(barrier), barrier.size(), "  for (int d");
  const Evaluation found = Good(racy);
  EXPECT_EQ(found.verdict, Verdict::kDeviceFault) << found.message;
  EXPECT_THAT(found.message, HasSubstr("of shared memory at parts["));
  EXPECT_THAT(found.message, HasSubstr("a race; found by interpreting"));
  EXPECT_EQ(found.check.passed, found.check.trials);

  protocol::EvaluateJob job = Compiled(racy, problem_, hello_.device.arch);
  job.options.races = false;
  job.options.check_only = true;
  worker_->Send(protocol::ToWorker(job));
  const auto reply = worker_->Expect<protocol::EvaluationReply>();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->evaluation.verdict, Verdict::kOk) << reply->evaluation.message;
  EXPECT_FALSE(reply->evaluation.check.races);
}

TEST_F(WorkerGpuTest, SeesUnwrittenRows) {
  const Evaluation evaluation = Good(SoftmaxKernel("", "x.size(0) / 2"));
  EXPECT_EQ(evaluation.verdict, Verdict::kWrongResult);
  EXPECT_THAT(evaluation.message,
              HasSubstr("all rows after 2047 are NaN: they were never written"));
}

TEST_F(WorkerGpuTest, SeesAWriteOnePastTheEnd) {
  EXPECT_EQ(VerdictOf(SoftmaxKernel("if (r == rows_total - 1 && t == 0) out[n] = 0.f;")),
            Verdict::kOutOfBounds);
}

TEST_F(WorkerGpuTest, SeesAWildPointer) {
  EXPECT_EQ(VerdictOf(SoftmaxKernel("if (t == 0 && r == 0) *(volatile float*)8 = 1.f;")),
            Verdict::kOutOfBounds);
}

TEST_F(WorkerGpuTest, SeesATrap) {
  EXPECT_EQ(VerdictOf(SoftmaxKernel("if (r == 3) asm volatile(\"trap;\");")),
            Verdict::kDeviceFault);
}

TEST_F(WorkerGpuTest, SeesAChangedInput) {
  const Evaluation evaluation =
      Good(SoftmaxKernel("if (r == 5 && t == 7) const_cast<float*>(in)[t] += 1.f;"));
  EXPECT_EQ(evaluation.verdict, Verdict::kInputMutated);
  EXPECT_EQ(Good(kOpsOnly).verdict, Verdict::kOk);
}

TEST_F(WorkerGpuTest, DiesWithItsDriverWhileAKernelHangs) {
  worker_->Send(protocol::ToWorker(
      Compiled(SoftmaxKernel("volatile int go = 1; while (go) {}"), problem_, hello_.device.arch)));
  while (auto message = worker_->Next()) {
    const auto* note = std::get_if<protocol::StageNote>(&*message);
    if (note && note->stage == "check") break;
  }
  worker_->child().CloseSocket();
  const auto death = worker_->child().Wait(10);
  ASSERT_TRUE(death) << "a hanging kernel keeps its process";
}

TEST_F(WorkerGpuTest, TimesTorchCompileAgainstEager) {
  worker_->Send(protocol::ToWorker(protocol::BaselineJob{}));
  const auto reply = worker_->Expect<protocol::BaselineReply>(300);
  ASSERT_TRUE(reply);
  ASSERT_TRUE(reply->ok) << reply->message;
  EXPECT_GT(reply->compiled.at("default").median_ms, 0);
  EXPECT_GT(reply->eager.median_ms, 0);
}

}  // namespace
}  // namespace cudaagent::worker
