// Strict guards on a GPU: what lies past a tensor is not mapped.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "device/gpu/graph.h"
#include "device/gpu/unmapped_memory.h"
#include "device/gpu_bench.h"

namespace cudaagent::device {
namespace {

constexpr int64_t kCount = 64000;  // floats: a multiple of 256 bytes, so nothing is left at the end

constexpr const char* kCode = R"(
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void reads_one_more(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float next = i < n ? x[i + 1] : 0;
  if (i < n) y[i] = 2 * x[i] + (next > 1e30f ? 1 : 0);
}
extern "C" __global__ void writes_one_more(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = i < n ? 2 * x[i] : 0;
}
)";

std::string PlanOf(const std::string& kernel) {
  return R"({"plan": 1, "steps": [{"kernel": ")" + kernel +
         R"(", "grid": [251], "block": [256], "args": ["$x", "$out0", {"i32": "x.numel"}]}]})";
}

// One input x and one output, both of `count` floats, under `guard`.
FakeProblem ProblemOf(const GpuBench& bench, Guard guard, int64_t count) {
  FakeProblem problem;
  problem.bindings.guard = guard;
  problem.bindings.guards = std::make_shared<GuardedMemory>(guard);
  const at::Tensor x =
      problem.bindings.guards->Allocate("x", {count}, {1}, at::kFloat, gpu::TorchDevice());
  x.uniform_();
  problem.Input("x", x);
  problem.Output(at::empty({count}, bench.options()));
  return problem;
}

Fault JudgeOn(GpuBench& bench, Guard guard, const std::string& kernel, int64_t count = kCount) {
  const FakeProblem problem = ProblemOf(bench, guard, count);
  return bench.Judge(problem, PlanOf(kernel), kCode, {kernel});
}

class StrictGuardGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = GpuMissing(); !missing.empty()) GTEST_SKIP() << missing;
    static GpuBench* const shared = new GpuBench;
    bench_ = shared;
  }
  int64_t Free() const {
    size_t free = 0, total = 0;
    EXPECT_EQ((*gpu::LoadDriver())->cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    return static_cast<int64_t>(free);
  }

  GpuBench* bench_ = nullptr;
};

TEST_F(StrictGuardGpuTest, AnHonestKernelPassesStepByStepAndAsAGraph) {
  const FakeProblem problem = ProblemOf(*bench_, Guard::kStrict, kCount);
  const at::Tensor& x = problem.bindings.inputs.at("x");
  auto runner = bench_->Create(problem, PlanOf("twice"), kCode, {"twice"});
  ASSERT_TRUE(runner) << runner.error().message;
  (*runner)->Poison();
  ASSERT_TRUE((*runner)->Run());
  auto checked = (*runner)->CheckGuards();
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), x * 2));
  std::string note;
  auto captured = (*runner)->Capture(&note);
  ASSERT_TRUE(captured) << captured.error().message;
  ASSERT_TRUE(*captured) << note;
  x.uniform_();
  (*runner)->Poison();
  ASSERT_TRUE((*runner)->Replay());
  ASSERT_TRUE((*runner)->CheckGuards());
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), x * 2));
}

TEST_F(StrictGuardGpuTest, ZonesLetAReadPastTheEndPass) {
  const Fault fault = JudgeOn(*bench_, Guard::kZones, "reads_one_more");
  EXPECT_EQ(fault.verdict, Verdict::kOk) << fault.message;
}

TEST_F(StrictGuardGpuTest, TensorsEndWhereTheMappedMemoryEnds) {
  const int64_t granularity = gpu::MappingGranularity(gpu::TorchDevice());
  GuardedMemory memory(Guard::kStrict);
  for (const int64_t count : {1L, 64L, 65L, kCount, (4L << 20) + 3}) {
    const at::Tensor tensor = memory.Allocate("t", {count}, {1}, at::kFloat, gpu::TorchDevice());
    const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
    EXPECT_EQ(begin % GuardedMemory::kAlignment, 0U);
    const auto past = static_cast<int64_t>((begin + count * 4) % granularity);
    EXPECT_TRUE(past == 0 || past > granularity - GuardedMemory::kAlignment) << count;
    tensor.fill_(1);
    EXPECT_EQ(tensor.sum().item<float>(), static_cast<float>(count));
  }
  auto checked = memory.Check();
  EXPECT_TRUE(checked) << checked.error().message;
}

// A row of 65 floats leaves 252 bytes up to the next multiple of 256: a zone like any other.
TEST_F(StrictGuardGpuTest, FindsAWriteIntoWhatAlignmentLeavesAtTheEnd) {
  const Fault fault = JudgeOn(*bench_, Guard::kStrict, "writes_one_more", 65);
  EXPECT_EQ(fault.verdict, Verdict::kOutOfBounds);
  EXPECT_EQ(fault.message, "A kernel wrote 4 bytes past the end of out0, right beside it.");
  EXPECT_FALSE(bench_->device->poisoned());
}

TEST_F(StrictGuardGpuTest, GivesMemoryBack) {
  constexpr int64_t kBytes = 64 << 20;
  gpu::AllocateBeforeUnmapped(kBytes, gpu::TorchDevice());
  gpu::EmptyCache();
  const int64_t before = Free();
  for (int i = 0; i < 100; ++i) {
    GuardedMemory memory(Guard::kStrict);
    const at::Tensor tensor =
        memory.Allocate("t", {kBytes / 4}, {1}, at::kFloat, gpu::TorchDevice());
    tensor.zero_();
    EXPECT_LT(Free(), before);
  }
  gpu::EmptyCache();
  EXPECT_GE(Free(), before - (4 << 20));
}

TEST_F(StrictGuardGpuTest, SaysWhenThereIsNoMemoryAndGoesOn) {
  GuardedMemory memory(Guard::kStrict);
  try {
    memory.Allocate("t", {int64_t{1} << 38}, {1}, at::kFloat, gpu::TorchDevice());
    FAIL() << "1 TiB was given";
  } catch (const c10::OutOfMemoryError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("Strict guards: a buffer takes 10995"));
  }
  EXPECT_EQ(memory.size(), 0U);
  EXPECT_EQ(JudgeOn(*bench_, Guard::kStrict, "twice").verdict, Verdict::kOk);
}

// A fault ends its process's context, so each runs in a process of its own.
class StrictGuardGpuDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = GpuMissing(); !missing.empty()) GTEST_SKIP() << missing;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  // Prints the verdict, the sentence and whether the device is poisoned; exits 0.
  [[noreturn]] static void Report(const std::string& kernel) {
    GpuBench bench;
    const Fault fault = JudgeOn(bench, Guard::kStrict, kernel);
    std::fprintf(stderr, "%s|%s|%d", std::string(ToString(fault.verdict)).c_str(),
                 fault.message.c_str(), bench.device->poisoned() ? 1 : 0);
    std::fflush(stderr);
    _exit(0);
  }
};

TEST_F(StrictGuardGpuDeathTest, AReadOneElementPastAnInputFaults) {
  EXPECT_EXIT(Report("reads_one_more"), ::testing::ExitedWithCode(0),
              "out_of_bounds.Kernel \"reads_one_more\" accessed memory outside every allocation "
              ".CUDA error 700.; strict guards were on: .*unmapped..1");
}

TEST_F(StrictGuardGpuDeathTest, AWriteOneElementPastAnOutputFaults) {
  EXPECT_EXIT(Report("writes_one_more"), ::testing::ExitedWithCode(0),
              "out_of_bounds.Kernel \"writes_one_more\" .*strict guards were on: .*unmapped..1");
}

}  // namespace
}  // namespace cudaagent::device
