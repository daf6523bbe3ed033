#include "measure/nvml.h"

#include <gtest/gtest.h>

namespace cudaagent::measure {
namespace {

TEST(ClockEventsTest, HeatAndThePowerBrakeSpoilAMeasurementAndAPowerCapDoesNot) {
  EXPECT_FALSE(ClockEvents{0x1}.throttled());  // idle
  EXPECT_FALSE(ClockEvents{0x4}.throttled());
  EXPECT_TRUE(ClockEvents{0x4}.power_capped());
  for (uint64_t bit : {0x8, 0x20, 0x40, 0x80}) EXPECT_TRUE(ClockEvents{bit}.throttled()) << bit;
  EXPECT_EQ(ClockEvents{0x40 | 0x4}.Words(),
            (std::vector<std::string>{"hardware thermal slowdown", "power cap"}));
  EXPECT_TRUE(ClockEvents{0x1}.Words().empty());
}

TEST(NvmlTest, WithoutItNothingIsToldAndTheReasonIsKnown) {
  Nvml& nvml = Nvml::Get();
  if (nvml.usable()) GTEST_SKIP() << "there is NVML here";
  EXPECT_FALSE(nvml.problem().empty());
  EXPECT_FALSE(nvml.Events());
  EXPECT_FALSE(nvml.SmMegahertz());
  EXPECT_FALSE(nvml.Millijoules());
}

}  // namespace
}  // namespace cudaagent::measure
