#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "evaluate/device_choice.h"
#include "evaluate/device_lock.h"
#include "evaluate/keys.h"
#include "evaluate/reply_cache.h"
#include "evaluate/roofline.h"
#include "evaluate/scoring.h"
#include "util/file.h"

namespace cudaagent::evaluate {
namespace {

using ::testing::HasSubstr;

MachineView Machine(const std::string& has, std::optional<std::string> visible = {}) {
  MachineView machine;
  machine.exists = [has](const std::string& path) { return path == has; };
  machine.cuda_visible_devices = std::move(visible);
  return machine;
}

TEST(DeviceChoiceTest, AutoTakesTheGpuWhereADriverShows) {
  for (const char* path : {"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg"}) {
    const auto choice = ChooseDevice("auto", Machine(path));
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->device, "gpu:0");
    EXPECT_EQ(choice->why, "using the GPU (gpu:0)");
  }
}

TEST(DeviceChoiceTest, AutoTakesTheCpuAndSaysWhy) {
  EXPECT_THAT(ChooseDevice("auto", Machine(""))->why, HasSubstr("shows no NVIDIA driver"));
  for (const char* visible : {"", "-1", " "}) {
    const auto choice = ChooseDevice("auto", Machine("/dev/nvidiactl", visible));
    EXPECT_EQ(choice->device, "cpu");
    EXPECT_THAT(choice->why, HasSubstr("CUDA_VISIBLE_DEVICES hides every GPU"));
  }
}

TEST(DeviceChoiceTest, AGpuAskedForIsNeverReplacedByTheCpu) {
  EXPECT_EQ(ChooseDevice("gpu:3", Machine("/dev/nvidiactl"))->device, "gpu:3");
  EXPECT_EQ(ChooseDevice("gpu", Machine("")).error().code, ErrorCode::kEnvironment);
}

TEST(DeviceChoiceTest, RefusesWhatIsNoDevice) {
  for (const char* wanted : {"", "tpu", "gpu:", "gpu:x", "gpu:-1", "gpu:99999"}) {
    EXPECT_EQ(ChooseDevice(wanted, Machine("/dev/nvidiactl")).error().code, ErrorCode::kUsage);
  }
}

TEST(DeviceLockTest, IsHeldByOneAtATime) {
  const util::TempDir folder = std::move(*util::TempDir::Create("lock-test"));
  const std::string locks = folder.path() + "/locks";
  std::vector<std::string> lines;
  const auto progress = [&](const std::string& line) { lines.push_back(line); };
  {
    const auto held = DeviceLock::Take(locks, "GPU-1", DeviceLock::Kind::kExclusive, 1, progress);
    ASSERT_TRUE(held);
    EXPECT_TRUE(lines.empty());
    EXPECT_TRUE(DeviceLock::Take(locks, "GPU-2", DeviceLock::Kind::kExclusive, 0, progress));
    const auto second =
        DeviceLock::Take(locks, "GPU-1", DeviceLock::Kind::kExclusive, 0.2, progress);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kEnvironment);
    EXPECT_EQ(lines.size(), 1u);
  }
  EXPECT_TRUE(DeviceLock::Take(locks, "GPU-1", DeviceLock::Kind::kExclusive, 0, progress));
}

TEST(DeviceLockTest, AnyNumberMayCheckSideBySideButNotBesideATiming) {
  const util::TempDir folder = std::move(*util::TempDir::Create("lock-test"));
  const auto take = [&](DeviceLock::Kind kind) {
    return DeviceLock::Take(folder.path(), "GPU-1", kind, 0, {});
  };
  {
    const auto first = take(DeviceLock::Kind::kShared);
    const auto second = take(DeviceLock::Kind::kShared);
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(take(DeviceLock::Kind::kExclusive));
  }
  const auto timing = take(DeviceLock::Kind::kExclusive);
  ASSERT_TRUE(timing);
  EXPECT_FALSE(take(DeviceLock::Kind::kShared));
}

TEST(DeviceLockTest, WaitsForTheHolderToLeave) {
  const util::TempDir folder = std::move(*util::TempDir::Create("lock-test"));
  std::optional<DeviceLock> held =
      std::move(*DeviceLock::Take(folder.path(), "GPU-1", DeviceLock::Kind::kExclusive, 1, {}));
  std::thread leaving([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    held.reset();
  });
  EXPECT_TRUE(DeviceLock::Take(folder.path(), "GPU-1", DeviceLock::Kind::kExclusive, 20, {}));
  leaving.join();
}

TEST(DeviceLockTest, RefusesAFolderThatIsALink) {
  const util::TempDir folder = std::move(*util::TempDir::Create("lock-test"));
  const std::string link = folder.path() + "/link";
  ASSERT_EQ(::symlink(folder.path().c_str(), link.c_str()), 0);
  EXPECT_THAT(DeviceLock::Take(link, "GPU-1", DeviceLock::Kind::kExclusive, 0, {}).error().message,
              HasSubstr("does not belong to this user"));
}

TEST(DeviceLockTest, AUuidCannotLeaveTheFolder) {
  const util::TempDir folder = std::move(*util::TempDir::Create("lock-test"));
  ASSERT_TRUE(DeviceLock::Take(folder.path(), "../../x", DeviceLock::Kind::kExclusive, 0, {}));
  EXPECT_TRUE(util::ReadFile(folder.path() + "/gpu-______x.lock"));
}

TEST(ReplyCacheTest, FindsWhatItKeptUnderTheSameKeyAndOfTheSameKindOnly) {
  const util::TempDir folder = std::move(*util::TempDir::Create("cache-test"));
  const ReplyCache cache(folder.path() + "/new/baselines");
  protocol::BaselineReply reply;
  reply.ok = true;
  reply.compiled["default"].median_ms = 1.25;
  EXPECT_FALSE(cache.Find<protocol::BaselineReply>("key"));
  cache.Keep("key", reply);
  ASSERT_TRUE(cache.Find<protocol::BaselineReply>("key"));
  EXPECT_EQ(cache.Find<protocol::BaselineReply>("key")->compiled["default"].median_ms, 1.25);
  EXPECT_FALSE(cache.Find<protocol::BaselineReply>("other"));
  EXPECT_FALSE(cache.Find<protocol::CalibrationReply>("key"));
}

TEST(ReplyCacheTest, ADamagedFileIsNoEntry) {
  const util::TempDir folder = std::move(*util::TempDir::Create("cache-test"));
  const ReplyCache cache(folder.path());
  cache.Keep("key", protocol::BaselineReply{});
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ASSERT_TRUE(util::WriteFileAtomic(entry.path().string(), "{\"type\":\"baseline_result\"}"));
  }
  EXPECT_FALSE(cache.Find<protocol::BaselineReply>("key"));
}

TEST(KeysTest, WhateverMayChangeABaselineChangesItsKey) {
  DeviceStamp device;
  device.uuid = "GPU-1";
  const std::string key = BaselineKey("hash", device, Precision::kTf32, false, {"default"});
  DeviceStamp other_gpu = device, other_torch = device, other_driver = device;
  other_gpu.uuid = "GPU-2";
  other_torch.torch_version = "2.12";
  other_driver.driver_version = "600";
  const std::set<std::string> others = {
      BaselineKey("hash2", device, Precision::kTf32, false, {"default"}),
      BaselineKey("hash", other_gpu, Precision::kTf32, false, {"default"}),
      BaselineKey("hash", other_torch, Precision::kTf32, false, {"default"}),
      BaselineKey("hash", other_driver, Precision::kTf32, false, {"default"}),
      BaselineKey("hash", device, Precision::kFp32, false, {"default"}),
      BaselineKey("hash", device, Precision::kTf32, true, {"default"}),
      BaselineKey("hash", device, Precision::kTf32, false, {"default", "max-autotune"})};
  EXPECT_EQ(others.size(), 7u);
  EXPECT_FALSE(others.contains(key));
}

Timing Around(double median, double share) {
  Timing timing;
  timing.median_ms = median;
  timing.ci_low_ms = median * std::exp(-share);
  timing.ci_high_ms = median * std::exp(share);
  return timing;
}

TEST(ScoringTest, IntervalsCombineInQuadrature) {
  Evaluation e;
  e.candidate = Around(1, 0.03);
  e.eager = Around(4, 0.04);
  Score({}, &e);
  EXPECT_EQ(e.protocol.baseline, "eager");
  ASSERT_TRUE(e.speedup_eager);
  EXPECT_NEAR(e.speedup_eager->value, 4, 1e-12);
  EXPECT_NEAR(e.speedup_eager->low, 4 * std::exp(-0.05), 1e-12);
  EXPECT_NEAR(e.speedup_eager->high, 4 * std::exp(0.05), 1e-12);
}

TEST(ScoringTest, TheWorkersOwnSpeedupIsKept) {
  Evaluation e;
  e.candidate = Around(1, 0.03);
  e.eager = Around(4, 0.04);
  e.speedup_eager = Speedup{3.9, 3.8, 4.0};
  Score({}, &e);
  EXPECT_EQ(e.speedup_eager->value, 3.9);
}

TEST(ScoringTest, AZeroTimeGivesNoSpeedup) {
  Evaluation e;
  e.candidate = Around(0, 0);
  e.eager = Around(4, 0.04);
  Score({Baseline{Around(4, 0), {{"default", Around(2, 0)}}}, "compile", "default", ""}, &e);
  EXPECT_FALSE(e.speedup_eager);
  EXPECT_FALSE(e.speedup_compile);
}

TEST(ScoringTest, EveryModeIsScaledByEagersDriftAndOneDecides) {
  Evaluation e;
  e.candidate = Around(1, 0.03);
  e.eager = Around(6, 0.04);
  BaselineState state;
  state.baseline =
      Baseline{Around(4, 0), {{"default", Around(2, 0)}, {"max-autotune", Around(1.5, 0)}}};
  Decide("best", &state);
  EXPECT_EQ(state.decides, "compile");
  EXPECT_EQ(state.mode, "max-autotune");
  Score(state, &e);
  EXPECT_EQ(e.protocol.compile_mode, "max-autotune");
  EXPECT_NEAR(e.baselines.at("default").median_ms, 3, 1e-12);
  EXPECT_NEAR(e.compiled_baseline->median_ms, 2.25, 1e-12);
  EXPECT_NEAR(e.speedup_compile->value, 2.25, 1e-12);
}

TEST(ScoringTest, WhatTookTurnsWithTheCandidateIsNotScaled) {
  Evaluation e;
  e.candidate = Around(1, 0.03);
  e.eager = Around(6, 0.04);
  e.compiled_baseline = Around(2.5, 0.01);
  e.speedup_compile = Speedup{2.5, 2.4, 2.6};
  BaselineState state;
  state.baseline = Baseline{Around(4, 0), {{"default", Around(2, 0)}}};
  Decide("compile", &state);
  Score(state, &e);
  EXPECT_EQ(e.speedup_compile->value, 2.5);
  EXPECT_EQ(e.compiled_baseline->median_ms, 2.5);
  EXPECT_EQ(e.protocol.compile_mode, "default");
}

TEST(ScoringTest, TheBestBaselineMayBeEager) {
  BaselineState state;
  state.baseline = Baseline{Around(1, 0), {{"default", Around(2, 0)}}};
  Decide("best", &state);
  EXPECT_EQ(state.decides, "eager");
  Decide("compile", &state);
  EXPECT_EQ(state.decides, "compile");
  Decide("eager", &state);
  EXPECT_EQ(state.decides, "eager");
}

TEST(RooflineTest, IsTheSlowerOfMemoryAndArithmetic) {
  Ceilings ceilings;
  ceilings.fp32_flops = 50e12;
  ceilings.tf32_flops = 400e12;
  ceilings.bf16_flops = 800e12;
  ProblemSpec spec;
  EXPECT_EQ(PeakFlops(ceilings, spec), 400e12);
  spec.precision = Precision::kFp32;
  EXPECT_EQ(PeakFlops(ceilings, spec), 50e12);
  spec.dtype = "bfloat16";
  EXPECT_EQ(PeakFlops(ceilings, spec), 800e12);
  Evaluation e;
  e.candidate = Around(2, 0);
  graph::Work work;
  work.bytes_read = 3'000'000'000;
  work.bytes_written = 1'000'000'000;
  AddSol(work, 50e12, 4e12, &e);  // 1 ms of memory
  EXPECT_NEAR(*e.sol_ms, 1, 1e-12);
  EXPECT_NEAR(*e.sol, 0.5, 1e-12);
  work.flops = 75e9;  // 1.5 ms of arithmetic
  AddSol(work, 50e12, 4e12, &e);
  EXPECT_NEAR(*e.sol, 0.75, 1e-12);
}

TEST(RooflineTest, AnEstimateAndAnUnknownCeilingHaveNone) {
  Evaluation e;
  e.candidate = Around(2, 0);
  graph::Work work;
  work.flops = 1e9;
  AddSol(work, 0, 4e12, &e);
  EXPECT_FALSE(e.sol);
  e.estimated = true;
  AddSol(work, 1e12, 4e12, &e);
  EXPECT_FALSE(e.sol);
}

}  // namespace
}  // namespace cudaagent::evaluate
