#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "measure/measure.h"

namespace cudaagent::measure {
namespace {

std::vector<double> Normal(size_t count, double mean, double deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<double> values(count);
  for (double& each : values) each = distribution(random);
  return values;
}

TEST(MedianTest, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({5, 1, 3}), 3);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({7, 7}), 7);
}

TEST(MedianIntervalTest, IsAPointForEqualValues) {
  const Interval interval = MedianInterval(std::vector<double>(20, 4.5));
  EXPECT_EQ(interval.low, 4.5);
  EXPECT_EQ(interval.high, 4.5);
  const Interval single = MedianInterval({2});
  EXPECT_EQ(single.low, 2);
  EXPECT_EQ(single.high, 2);
}

TEST(MedianIntervalTest, IsDeterministicAndHoldsTheMedian) {
  const auto values = Normal(101, 100, 5, 7);
  const Interval first = MedianInterval(values);
  const Interval second = MedianInterval(values);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  EXPECT_LE(first.low, Median(values));
  EXPECT_GE(first.high, Median(values));
}

TEST(MedianIntervalTest, HasTheWidthTheoryGivesForNormalSamples) {
  // Standard error of the median of n normal values: deviation * sqrt(pi / (2 n)).
  const double expected = 2 * 1.96 * 5 * std::sqrt(M_PI / 2 / 200);
  double mean_width = 0;
  constexpr int kRepeats = 50;
  for (uint32_t seed = 0; seed < kRepeats; ++seed) {
    const Interval interval = MedianInterval(Normal(200, 100, 5, seed));
    mean_width += (interval.high - interval.low) / kRepeats;
  }
  EXPECT_NEAR(mean_width, expected, 0.15 * expected);
}

TEST(MedianIntervalTest, CoversTheTrueMedianAboutNineteenTimesInTwenty) {
  int covered = 0;
  constexpr int kRepeats = 400;
  for (uint32_t seed = 0; seed < kRepeats; ++seed) {
    // Skewed, as timings are: log-normal with median e^3.
    auto values = Normal(40, 3, 0.2, 1000 + seed);
    for (double& each : values) each = std::exp(each);
    const Interval interval = MedianInterval(values);
    covered += interval.low <= std::exp(3.0) && std::exp(3.0) <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, kRepeats * 91 / 100);
  EXPECT_LE(covered, kRepeats * 99 / 100);
}

TEST(MedianIntervalTest, TakesMillisecondsForTwoHundredValues) {
  const auto values = Normal(200, 100, 5, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) MedianInterval(values);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count() / 20, 0.02);
}

TEST(RatioTest, ComparesMediansAndCoversTheTruth) {
  int covered = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Speedup ratio = Ratio(Normal(60, 200, 10, seed), Normal(60, 100, 5, 5000 + seed));
    EXPECT_NEAR(ratio.value, 2, 0.2);
    EXPECT_LE(ratio.low, ratio.value);
    EXPECT_GE(ratio.high, ratio.value);
    covered += ratio.low <= 2 && 2 <= ratio.high ? 1 : 0;
  }
  EXPECT_GE(covered, 180);
}

TEST(SummariseTest, SpeaksInMilliseconds) {
  Samples samples;
  samples.span_ns = {1e6, 2e6, 3e6};
  samples.busy_ns = 5e5;
  samples.activities = 2;
  samples.clock = "cupti-graph";
  const Timing timing = Summarise(samples);
  EXPECT_EQ(timing.median_ms, 2);
  EXPECT_GE(timing.ci_low_ms, 1);
  EXPECT_LE(timing.ci_high_ms, 3);
  EXPECT_EQ(timing.samples, 3);
  EXPECT_EQ(timing.busy_ms, 0.5);
  EXPECT_EQ(timing.kernels, 2);
  EXPECT_EQ(timing.clock, "cupti-graph");
}

}  // namespace
}  // namespace cudaagent::measure
