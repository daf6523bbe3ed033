#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>

#include "device/gpu_bench.h"
#include "measure/measure.h"
#include "measure/statistics.h"

namespace cudaagent::measure {
namespace {

constexpr const char* kCode = R"(
extern "C" __global__ void scale(const float4* x, float4* y, int n, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 v = x[i]; y[i] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s); }
}
)";
constexpr const char* kPlan = R"({"plan": 1, "steps": [
    {"kernel": "scale", "grid": ["(x.numel / 4 + 255) / 256"], "block": [256],
     "args": ["$x", "$h", {"i32": "x.numel / 4"}, {"f32": 2}]},
    {"op": "aten::add.Tensor", "args": ["$h", 1], "out": "out0"}],
    "buffers": {"h": {"dtype": "float32", "shape": ["x.numel"]}}})";

class MeasureGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = device::GpuMissing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    static device::GpuBench* const shared = [] {
      InitTiming();
      return new device::GpuBench;
    }();
    bench_ = shared;
  }

  // x + 1 after scaling, on `count` floats: one kernel of ours and one op, against two ops.
  void Prepare(int64_t count) {
    x_ = at::rand({count}, bench_->options());
    device::FakeProblem problem;
    problem.Input("x", x_);
    problem.Output(at::empty({count}, bench_->options()));
    auto runner = bench_->Create(problem, kPlan, kCode, {"scale"});
    ASSERT_TRUE(runner) << runner.error().message;
    runner_ = std::move(*runner);
    std::string note;
    auto captured = runner_->Capture(&note);
    ASSERT_TRUE(captured) << captured.error().message;
    ASSERT_TRUE(*captured) << note;
    ours_.name = "candidate";
    ours_.graph = true;
    ours_.prepare = [this]() -> Checked<void> {
      runner_->Poison();
      return {};
    };
    ours_.run = [this] { return runner_->Replay(); };
    ours_.steps = [this] { return runner_->Run(); };
    eager_.name = "eager";
    eager_.run = [this]() -> Checked<void> {
      at::add(at::mul(x_, 2), 1);
      return {};
    };
  }

  Checked<std::vector<Samples>> Measure() {
    return MeasureInterleaved({ours_, eager_}, runner_->kernel_names(), options_);
  }

  device::GpuBench* bench_ = nullptr;
  at::Tensor x_;
  std::unique_ptr<device::PlanRunner> runner_;
  Contender ours_, eager_;
  EvalOptions options_;
};

TEST_F(MeasureGpuTest, UsesCupti) { EXPECT_EQ(CuptiStatus(), "13.0"); }

TEST_F(MeasureGpuTest, AgreesWithEventsOnALargeProblem) {
  Prepare(64 << 20);  // 256 MiB in
  auto measured = Measure();
  ASSERT_TRUE(measured) << measured.error().message;
  for (const Samples& each : *measured) {
    ASSERT_GE(each.span_ns.size(), 10U);
    const double span = Median(each.span_ns), events = Median(each.event_ns);
    EXPECT_GT(span, 50'000);
    EXPECT_LT(span, events * 1.02);
    EXPECT_GT(span, events * 0.85) << each.note;
    EXPECT_EQ(each.activities, 2);
    EXPECT_GT(each.busy_ns, 0);
    EXPECT_LT(each.busy_ns, span * 1.1);
  }
  const Samples& ours = measured->at(0);
  const Samples& eager = measured->at(1);
  EXPECT_EQ(ours.clock, "cupti-graph");
  EXPECT_EQ(eager.clock, "cupti-activity") << eager.note;
  EXPECT_GT(ours.own_busy_ns, 0.3 * ours.busy_ns);
  EXPECT_LT(ours.own_busy_ns, 0.7 * ours.busy_ns);
  EXPECT_EQ(eager.own_busy_ns, 0);
  const Speedup speedup = Ratio(eager.span_ns, ours.span_ns);
  EXPECT_GT(speedup.value, 0.8);
  EXPECT_LT(speedup.value, 1.3);
}

TEST_F(MeasureGpuTest, IsQuickOnASmallProblemAndRepeatable) {
  Prepare(1 << 20);
  auto first = Measure();  // allocates the flush buffer, loads kernels
  ASSERT_TRUE(first) << first.error().message;
  const auto begin = std::chrono::steady_clock::now();
  auto second = Measure();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_LT(taken.count(), 0.3);
  EXPECT_NEAR(Median(second->at(0).span_ns), Median(first->at(0).span_ns),
              0.1 * Median(first->at(0).span_ns));
  RecordProperty("small_seconds", std::to_string(taken.count()));
}

TEST_F(MeasureGpuTest, TimesAPlanStepByStep) {
  Prepare(16 << 20);
  ours_.graph = false;
  ours_.run = ours_.steps;
  auto measured = Measure();
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(measured->at(0).clock, "cupti-activity") << measured->at(0).note;
  EXPECT_EQ(measured->at(0).activities, 2);
  EXPECT_GT(measured->at(0).own_busy_ns, 0);
}

TEST_F(MeasureGpuTest, MeasuresAgainAfterGraphsCameAndWent) {
  for (int i = 0; i < 3; ++i) {
    Prepare(1 << 20);
    auto measured = Measure();
    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(measured->at(0).clock, "cupti-graph") << measured->at(0).note;
    runner_.reset();
  }
}

}  // namespace
}  // namespace cudaagent::measure
