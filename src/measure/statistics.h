// Medians and bootstrap intervals. Pure and deterministic: equal samples give equal intervals.
#pragma once

#include <vector>

namespace cudaagent::measure {

struct Interval {
  double low = 0;
  double high = 0;
};

// Mean of the two middle values for an even count. `values` must not be empty.
double Median(std::vector<double> values);

// 95 % percentile bootstrap (Efron) with 1000 resamples of the median. Under 1 ms for 200 values.
Interval MedianInterval(const std::vector<double>& values);

// The same for Median(numerator) / Median(denominator), resampled independently.
Interval RatioInterval(const std::vector<double>& numerator,
                       const std::vector<double>& denominator);

}  // namespace cudaagent::measure
