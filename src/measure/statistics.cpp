#include "measure/statistics.h"

#include <algorithm>
#include <cstdint>

#include "measure/measure.h"

namespace cudaagent::measure {
namespace {

constexpr int kResamples = 1000;
constexpr double kNsPerMs = 1e6;

// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Uniform in [0, bound); `bound` below 2^32, so the bias is below 2^-32.
  uint32_t Below(uint32_t bound) {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    return static_cast<uint32_t>(((z >> 32) * bound) >> 32);
  }

 private:
  uint64_t state_;
};

// Medians of resamples of one sample. A resample is drawn as a count per rank of the sorted sample,
// so that its median is found by walking the counts, without sorting.
class Resampler {
 public:
  Resampler(std::vector<double> values, uint64_t seed)
      : sorted_(std::move(values)), counts_(sorted_.size()), random_(seed) {
    std::sort(sorted_.begin(), sorted_.end());
  }

  double NextMedian() {
    const size_t n = sorted_.size();
    std::fill(counts_.begin(), counts_.end(), 0);
    for (size_t i = 0; i < n; ++i) ++counts_[random_.Below(static_cast<uint32_t>(n))];
    const size_t low = (n - 1) / 2, high = n / 2;  // ranks whose mean is the median
    size_t seen = 0, rank = 0;
    while ((seen += counts_[rank]) <= low) ++rank;
    const double first = sorted_[rank];
    while (seen <= high) seen += counts_[++rank];
    return (first + sorted_[rank]) / 2;
  }

 private:
  std::vector<double> sorted_;
  std::vector<uint32_t> counts_;
  Random random_;
};

Interval Percentiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Interval MedianInterval(const std::vector<double>& values) {
  Resampler resampler(values, 1);
  std::vector<double> medians(kResamples);
  for (double& each : medians) each = resampler.NextMedian();
  return Percentiles(std::move(medians));
}

Interval RatioInterval(const std::vector<double>& numerator,
                       const std::vector<double>& denominator) {
  Resampler above(numerator, 1), below(denominator, 2);
  std::vector<double> ratios(kResamples);
  for (double& each : ratios) each = above.NextMedian() / below.NextMedian();
  return Percentiles(std::move(ratios));
}

Timing Summarise(const Samples& samples) {
  const Interval interval = MedianInterval(samples.span_ns);
  Timing timing;
  timing.median_ms = Median(samples.span_ns) / kNsPerMs;
  timing.ci_low_ms = interval.low / kNsPerMs;
  timing.ci_high_ms = interval.high / kNsPerMs;
  timing.samples = static_cast<int>(samples.span_ns.size());
  timing.busy_ms = samples.busy_ns / kNsPerMs;
  timing.kernels = samples.activities;
  timing.clock = samples.clock;
  if (!samples.event_ns.empty()) timing.event_ms = Median(samples.event_ns) / kNsPerMs;
  return timing;
}

Speedup Ratio(const std::vector<double>& baseline_ns, const std::vector<double>& candidate_ns) {
  const Interval interval = RatioInterval(baseline_ns, candidate_ns);
  return {Median(baseline_ns) / Median(candidate_ns), interval.low, interval.high};
}

}  // namespace cudaagent::measure
