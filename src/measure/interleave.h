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
  // Whether something slowed the device down since the last call; only what was collected counts.
  virtual bool TakeDisturbance() { return false; }
  // Keeps what was collected so far for good; Drop() forgets what came since.
  virtual void Keep() {}
  virtual void Drop() {}
  // Nanoseconds of every iteration collected so far that could be measured.
  virtual const std::vector<double>& Spans(size_t contender) const = 0;
};

// prepare, Begin, run, End of each contender in turn, `rounds` times, then Collect.
Checked<void> RunRounds(const std::vector<Contender>& contenders, int rounds,
                        IterationClock* clock);

// As many iterations as are inspected before the last one.
inline constexpr int kSecretInspections = 3;

// Blocks of rounds, from one look at the intervals to the next, that are dropped and repeated where
// the device was slowed down meanwhile; after that many it is taken as it is.
inline constexpr int kMostDroppedBlocks = 4;

struct RunReport {
  int dropped_blocks = 0;
  bool disturbed = false;  // blocks were kept although the device was slowed down
};

// Rounds until every contender's median is known to +-options.ci_half_width (95 %), but at least
// options.min_iterations and at most options.max_iterations, and not beyond `deadline` once three
// rounds are done.
Checked<RunReport> RunUntilNarrow(const std::vector<Contender>& contenders,
                                  const EvalOptions& options,
                                  std::chrono::steady_clock::time_point deadline,
                                  IterationClock* clock);

// True where half the 95 % interval is below `half_width` times the median.
bool IsNarrow(const std::vector<double>& spans, double half_width);

}  // namespace cudaagent::measure
