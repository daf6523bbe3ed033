#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <thread>

#include "evaluate/baseline_cache.h"
#include "evaluate/device_choice.h"
#include "evaluate/device_lock.h"
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

TEST(BaselineCacheTest, FindsWhatItKeptUnderTheSameKeyOnly) {
  const util::TempDir folder = std::move(*util::TempDir::Create("cache-test"));
  const BaselineCache cache(folder.path() + "/new/baselines");
  const BaselineKey key{"hash", "uuid", "torch", "driver", "tf32", false};
  protocol::BaselineReply reply;
  reply.ok = true;
  reply.compiled.median_ms = 1.25;
  EXPECT_FALSE(cache.Find(key));
  cache.Keep(key, reply);
  ASSERT_TRUE(cache.Find(key));
  EXPECT_EQ(cache.Find(key)->compiled.median_ms, 1.25);
  for (BaselineKey other : {BaselineKey{"hash2", "uuid", "torch", "driver", "tf32", false},
                            BaselineKey{"hash", "uuid2", "torch", "driver", "tf32", false},
                            BaselineKey{"hash", "uuid", "torch2", "driver", "tf32", false},
                            BaselineKey{"hash", "uuid", "torch", "driver2", "tf32", false},
                            BaselineKey{"hash", "uuid", "torch", "driver", "fp32", false},
                            BaselineKey{"hash", "uuid", "torch", "driver", "tf32", true}}) {
    EXPECT_FALSE(cache.Find(other));
  }
}

TEST(BaselineCacheTest, ADamagedFileIsNoEntry) {
  const util::TempDir folder = std::move(*util::TempDir::Create("cache-test"));
  const BaselineCache cache(folder.path());
  const BaselineKey key;
  cache.Keep(key, {});
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ASSERT_TRUE(util::WriteFileAtomic(entry.path().string(), "{\"type\":\"baseline_result\"}"));
  }
  EXPECT_FALSE(cache.Find(key));
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
  Score({Baseline{Around(4, 0), Around(2, 0)}, "compile", ""}, &e);
  EXPECT_FALSE(e.speedup_eager);
  EXPECT_FALSE(e.speedup_compile);
}

}  // namespace
}  // namespace cudaagent::evaluate
