// The loop of a measurement, apart from how an iteration is clocked.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "cudaagent/fault.h"
#include "cudaagent/options.h"
#include "measure/measure.h"

namespace cudaagent::measure {

inline constexpr int kWarmups = 3;

// Clocks one run of a contender between Begin() and End().
class IterationClock {
 public:
  virtual ~IterationClock() = default;
  virtual Checked<void> Begin(size_t contender) = 0;
  virtual Checked<void> End(size_t contender) = 0;
  // Waits for all iterations since the last call. Then Spans() is up to date.
  virtual Checked<void> Collect() = 0;
  // Nanoseconds of every iteration collected so far that could be measured.
  virtual const std::vector<double>& Spans(size_t contender) const = 0;
};

// prepare, Begin, run, End of each contender in turn, `rounds` times, then Collect.
Checked<void> RunRounds(const std::vector<Contender>& contenders, int rounds,
                        IterationClock* clock);

// As many iterations as are inspected before the last one.
inline constexpr int kSecretInspections = 3;

// Rounds until every contender's median is known to +-options.ci_half_width (95 %), but at least
// options.min_iterations and at most options.max_iterations, and not beyond `deadline` once three
// rounds are done.
Checked<void> RunUntilNarrow(const std::vector<Contender>& contenders, const EvalOptions& options,
                             std::chrono::steady_clock::time_point deadline, IterationClock* clock);

// True where half the 95 % interval is below `half_width` times the median.
bool IsNarrow(const std::vector<double>& spans, double half_width);

}  // namespace cudaagent::measure
