#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "device/gpu_bench.h"

namespace cudaagent::device {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr const char* kCode = R"(
__device__ int runs = 0;
extern "C" __global__ void scale(const float* x, float* y, int n, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s;
}
extern "C" __global__ void one_too_many(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = x[i < n ? i : 0];
}
extern "C" __global__ void count_runs(float* y, int n) {
  if (threadIdx.x == 0) ++runs;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = runs;
}
template <int N> __global__ void big_shared(float* y, int n) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < N; i += blockDim.x) s[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = s[N - 1 - i];
}
extern "C" __global__ void wild(float* y) { *(float*)0x100 = 1; y[0] = 1; }
extern "C" __global__ void crooked(float* y) { *(double*)((char*)y + 4) = 1; }
extern "C" __global__ void stopped(float* y) { y[0] = 1; __trap(); }
)";

// x is [64, 1000], out0 alike.
class PlanRunnerGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = GpuMissing(); !missing.empty()) GTEST_SKIP() << missing;
    static GpuBench* const shared = new GpuBench;
    bench_ = shared;
    x_ = at::rand({64, 1000}, bench_->options());
    problem_.Input("x", x_);
    problem_.Output(at::empty({64, 1000}, bench_->options()));
  }

  std::unique_ptr<PlanRunner> Create(const std::string& steps,
                                     const std::vector<std::string>& kernels) {
    auto runner =
        bench_->Create(problem_, R"({"plan": 1, "steps": [)" + steps + "]}", kCode, kernels);
    if (!runner) throw std::runtime_error(runner.error().message);
    return std::move(*runner);
  }
  Fault Judge(const std::string& steps, const std::vector<std::string>& kernels) {
    return bench_->Judge(problem_, R"({"plan": 1, "steps": [)" + steps + "]}", kCode, kernels);
  }

  static constexpr const char* kScaleThenRelu = R"(
      {"kernel": "scale", "grid": ["(x.numel + 255) / 256"], "block": [256],
       "args": ["$x", "$out0", {"i32": "x.numel"}, {"f32": -2}]},
      {"op": "aten::matmul", "args": ["$x", "$w"], "out": "h"},
      {"op": "aten::add.Tensor", "args": ["$out0", "$h"], "out": "out0"})";
  // Adds the parameter of kScaleThenRelu.
  void AddWeight() { problem_.Parameter("w", at::rand({1000, 1000}, bench_->options())); }
  at::Tensor Expected() { return x_ * -2 + at::matmul(x_, problem_.bindings.parameters["w"]); }

  GpuBench* bench_ = nullptr;
  FakeProblem problem_;
  at::Tensor x_;
};

TEST_F(PlanRunnerGpuTest, DescribesTheDevice) {
  const DeviceStamp& stamp = bench_->device->stamp();
  EXPECT_EQ(stamp.kind, "gpu");
  EXPECT_FALSE(stamp.name.empty());
  EXPECT_THAT(stamp.uuid, MatchesRegex("GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-.*"));
  EXPECT_THAT(stamp.driver_version, MatchesRegex("[0-9]+\\.[0-9.]+"));
  EXPECT_THAT(stamp.arch, StartsWith("sm_"));
  const Limits& limits = bench_->device->limits();
  EXPECT_GT(limits.sms, 0);
  EXPECT_GT(limits.l2_bytes, 1 << 20);
  EXPECT_GE(limits.shared_optin_bytes, 48 << 10);
  EXPECT_EQ(limits.max_threads_per_block, 1024);
}

TEST_F(PlanRunnerGpuTest, RunsKernelsAndOps) {
  AddWeight();
  auto runner = Create(kScaleThenRelu, {"scale"});
  runner->Poison();
  auto ran = runner->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_TRUE(bench_->device->Synchronize());
  EXPECT_TRUE(at::allclose(runner->outputs().at(0), Expected()));
  EXPECT_TRUE(runner->CheckGuards());
  ASSERT_EQ(runner->resources().size(), 1U);
  EXPECT_GT(runner->resources()[0].registers, 0);
}

TEST_F(PlanRunnerGpuTest, CapturesAndReplaysOnNewContents) {
  AddWeight();
  auto runner = Create(kScaleThenRelu, {"scale"});
  std::string note;
  auto captured = runner->Capture(&note);
  ASSERT_TRUE(captured) << captured.error().message;
  ASSERT_TRUE(*captured) << note;
  const void* address = nullptr;
  for (int i = 0; i < 3; ++i) {
    x_.copy_(at::rand_like(x_));
    runner->Poison();
    auto replayed = runner->Replay();
    ASSERT_TRUE(replayed) << replayed.error().message;
    ASSERT_TRUE(bench_->device->Synchronize());
    EXPECT_TRUE(at::allclose(runner->outputs().at(0), Expected()));
    if (i > 0) {
      EXPECT_EQ(runner->outputs().at(0).data_ptr(), address);
    }
    address = runner->outputs().at(0).data_ptr();
  }
  // A step-by-step run in between does not disturb the graph.
  ASSERT_TRUE(runner->Run());
  runner->Poison();
  ASSERT_TRUE(runner->Replay());
  ASSERT_TRUE(bench_->device->Synchronize());
  EXPECT_EQ(runner->outputs().at(0).data_ptr(), address);
  EXPECT_TRUE(at::allclose(runner->outputs().at(0), Expected()));
}

TEST_F(PlanRunnerGpuTest, ResetsDeviceGlobalsOnReload) {
  auto runner = Create(
      R"({"kernel": "count_runs", "grid": [1], "block": [256], "args": ["$out0", {"i32": 64000}]})",
      {"count_runs"});
  const auto value = [&] {
    EXPECT_TRUE(bench_->device->Synchronize());
    return runner->outputs().at(0).max().item<float>();
  };
  ASSERT_TRUE(runner->Run());
  ASSERT_TRUE(runner->Run());
  EXPECT_EQ(value(), 2);
  auto reloaded = runner->Reload();
  ASSERT_TRUE(reloaded) << reloaded.error().message;
  ASSERT_TRUE(runner->Run());
  EXPECT_EQ(value(), 1);
}

TEST_F(PlanRunnerGpuTest, SaysWhyAPlanCannotBeCapturedAndGoesOn) {
  problem_.Parameter("mask", at::ones({64}, bench_->options().dtype(at::kBool)));
  // Indexing by a mask waits for the device, which a capture forbids.
  auto runner =
      Create(R"({"op": "aten::index.Tensor", "args": ["$x", ["$mask"]], "out": "out0"})", {});
  for (int i = 0; i < 2; ++i) {
    std::string note;
    auto captured = runner->Capture(&note);
    ASSERT_TRUE(captured) << captured.error().message;
    EXPECT_FALSE(*captured);
    EXPECT_THAT(note, StartsWith("the plan cannot be captured as a graph: steps[0]"));
    EXPECT_FALSE(bench_->device->poisoned());
  }
  auto ran = runner->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_TRUE(bench_->device->Synchronize());
  EXPECT_TRUE(at::equal(runner->outputs().at(0), x_));
  AddWeight();
  auto next = Create(kScaleThenRelu, {"scale"});
  std::string note;
  auto captured = next->Capture(&note);
  ASSERT_TRUE(captured) << captured.error().message;
  EXPECT_TRUE(*captured) << note;
}

TEST_F(PlanRunnerGpuTest, GivesGraphMemoryBack) {
  AddWeight();
  const auto reserved = [] {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(0).reserved_bytes[0].current;
  };
  int64_t after_two = 0;
  for (int i = 0; i < 8; ++i) {
    auto runner = Create(kScaleThenRelu, {"scale"});
    std::string note;
    ASSERT_TRUE(runner->Capture(&note));
    runner.reset();
    if (i == 1) after_two = reserved();
  }
  EXPECT_LE(reserved(), after_two + (4 << 20));
}

TEST_F(PlanRunnerGpuTest, FindsAWriteOneElementPastTheOutput) {
  const Fault fault = Judge(
      R"({"kernel": "one_too_many", "grid": [251], "block": [256],
          "args": ["$x", "$out0", {"i32": 64000}]})",
      {"one_too_many"});
  EXPECT_EQ(fault.verdict, Verdict::kOutOfBounds);
  EXPECT_EQ(fault.message, "A kernel wrote 4 bytes past the end of out0, right beside it.");
  EXPECT_FALSE(bench_->device->poisoned());
}

TEST_F(PlanRunnerGpuTest, OptsInToLargeSharedMemory) {
  auto runner = Create(
      R"({"kernel": "big_shared<16000>", "grid": [1], "block": [256], "shared_bytes": 64000,
          "args": ["$out0", {"i32": 16000}]})",
      {"big_shared<16000>"});
  auto ran = runner->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_TRUE(bench_->device->Synchronize());
  EXPECT_EQ(runner->outputs().at(0).view({-1})[0].item<float>(), 15999);
}

TEST_F(PlanRunnerGpuTest, RejectsACooperativeGridThatDoesNotFit) {
  const Fault fault = Judge(
      R"({"kernel": "scale", "grid": [1000000], "block": [256], "cooperative": true,
          "args": ["$x", "$out0", {"i32": 64000}, {"f32": 1}]})",
      {"scale"});
  EXPECT_EQ(fault.verdict, Verdict::kLaunchRejected);
  EXPECT_THAT(fault.message,
              StartsWith("Kernel \"scale\" is cooperative with 1000000 blocks, but only "));
}

TEST_F(PlanRunnerGpuTest, ReadsParameterSizesFromTheCubin) {
  const Fault fault = Judge(
      R"({"kernel": "scale", "grid": [250], "block": [256],
          "args": ["$x", "$out0", {"i64": 64000}, {"f32": 1}]})",
      {"scale"});
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message,
            "steps[0].args[2]: an i64 has 8 bytes, but this parameter of kernel \"scale\" has 4.");
}

// A fault ends its process's context, so each runs in a process of its own.
class FaultGpuDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = GpuMissing(); !missing.empty()) GTEST_SKIP() << missing;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  // Prints the verdict, the sentence and whether the device is poisoned; exits 0.
  [[noreturn]] static void Report(const std::string& kernel) {
    GpuBench bench;
    FakeProblem problem;
    problem.Output(at::empty({64}, bench.options()));
    const Fault fault = bench.Judge(problem,
                                    R"({"plan": 1, "steps": [{"kernel": ")" + kernel +
                                        R"(", "grid": [1], "block": [1], "args": ["$out0"]}]})",
                                    kCode, {kernel});
    std::fprintf(stderr, "%s|%s|%d", std::string(ToString(fault.verdict)).c_str(),
                 fault.message.c_str(), bench.device->poisoned() ? 1 : 0);
    _exit(0);
  }
};

TEST_F(FaultGpuDeathTest, CallsAWildWriteOutOfBounds) {
  EXPECT_EXIT(Report("wild"), ::testing::ExitedWithCode(0),
              "out_of_bounds.Kernel \"wild\" accessed memory outside every allocation .CUDA error "
              "700...1");
}

TEST_F(FaultGpuDeathTest, CallsAMisalignedAccessADeviceFault) {
  EXPECT_EXIT(Report("crooked"), ::testing::ExitedWithCode(0),
              "device_fault.Kernel \"crooked\" accessed an address that is not a multiple of the "
              "access's size .CUDA error 716...1");
}

TEST_F(FaultGpuDeathTest, CallsATrapADeviceFault) {
  EXPECT_EXIT(Report("stopped"), ::testing::ExitedWithCode(0),
              "device_fault.Kernel \"stopped\" .*.1");
}

TEST_F(PlanRunnerGpuTest, PreparesPassesStructsAndFillsTheDevice) {
  problem_.Parameter("w", at::rand({1000}, bench_->options()));
  const char* code = R"(
__device__ unsigned arrived = 0;
struct Pair { const float* a; const float* b; float* out; };
extern "C" __global__ void twice(const float* w, float* p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = 2 * w[i];
}
extern "C" __global__ void fill(Pair t, float* part, int n, int cols, float s) {
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) {  // ends only where every block is resident
    part[blockIdx.x] = 1;
    __threadfence();
    unsigned all = (atomicAdd(&arrived, 1) / gridDim.x + 1) * gridDim.x;
    while (atomicAdd(&arrived, 0) < all) {}
    __threadfence();
  }
  __syncthreads();
  for (int i = first; i < n; i += gridDim.x * blockDim.x) {
    t.out[i] = (t.a[i] + t.b[i % cols]) * s * ((volatile float*)part)[gridDim.x - 1];
  }
}
)";
  const char* plan = R"j({"plan": 1,
    "prepared": {"p": {"dtype": "float32", "shape": ["w.numel"]}},
    "prepare": [{"kernel": "twice", "grid": 1, "block": 256, "args": ["$w", "$p", {"i32": "w.numel"}]}],
    "buffers": {"part": {"dtype": "float32", "shape": ["max_blocks('fill', 256, 0)"]}},
    "steps": [{"kernel": "fill", "grid": ["max_blocks('fill', 256, 0)"], "block": [256], "cooperative": true,
               "args": [{"ptrs": ["$x", "$p", "$out0"]}, "$part", {"i32": "x.numel"}, {"i32": "x.size(1)"},
                        {"f32": {"fexpr": "1 / sqrt(x.size(1))"}}]}]})j";
  auto created = bench_->Create(problem_, plan, code, {"twice", "fill"});
  ASSERT_TRUE(created) << created.error().message;
  PlanRunner& runner = **created;
  ASSERT_TRUE(runner.prepared());
  EXPECT_EQ(runner.prepared()->bytes, 4000);
  const auto expect = [&] {
    ASSERT_TRUE(bench_->device->Synchronize());
    auto guards = runner.CheckGuards();
    ASSERT_TRUE(guards) << guards.error().message;
    const at::Tensor wanted = (x_ + 2 * problem_.bindings.parameters["w"]) / std::sqrt(1000.0);
    EXPECT_TRUE(at::allclose(runner.outputs().at(0), wanted));
  };
  ASSERT_TRUE(runner.Run());
  expect();
  problem_.bindings.parameters["w"].add_(1);
  ASSERT_TRUE(runner.Reload());
  std::string note;
  auto captured = runner.Capture(&note);
  ASSERT_TRUE(captured && *captured) << note;
  runner.Poison();
  ASSERT_TRUE(runner.Replay());
  expect();
  ASSERT_TRUE(runner.extra_bytes());
  EXPECT_GE(*runner.extra_bytes(), 4000 + 132);

  // One block more than fit is refused before the launch.
  const std::string more =
      std::string(plan).replace(std::string(plan).rfind("0)\"], \"block\""), 2, "0) + 1");
  auto rejected = bench_->Judge(problem_, more, code, {"twice", "fill"});
  EXPECT_EQ(rejected.verdict, Verdict::kLaunchRejected) << rejected.message;
}

TEST_F(PlanRunnerGpuTest, FindsAPreparedValueThatAStepChanged) {
  problem_.Parameter("w", at::rand({64, 1000}, bench_->options()));
  const Fault fault = bench_->Judge(problem_, R"({"plan": 1,
    "prepared": {"p": {"dtype": "float32", "shape": [64, 1000]}},
    "prepare": [{"op": "aten::clone", "args": ["$w"], "out": "p"}],
    "steps": [{"op": "aten::clone", "args": ["$x"], "out": "out0"},
              {"kernel": "scale", "grid": 1, "block": 256, "args": ["$x", "$p", {"i32": 3}, {"f32": -2}]}]})",
                                    kCode, {"scale"});
  EXPECT_EQ(fault.verdict, Verdict::kInputMutated) << fault.message;
}

}  // namespace
}  // namespace cudaagent::device
