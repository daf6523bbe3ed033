// Timing on a GPU: what docs/measurement.md promises, as one call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/options.h"
#include "cudaagent/result.h"

namespace cudaagent::measure {

// One thing to time. `prepare` runs before each iteration, outside the window; `run` enqueues the
// work on the current stream. `graph`: run() is one CUDA graph launch.
struct Contender {
  std::string name;
  std::function<Checked<void>()> prepare;
  std::function<Checked<void>()> run;
  bool graph = false;
  // Where `graph`: the same work step by step, for the pass that counts single activities (tracing
  // the nodes of a graph would stretch it). Empty: Samples::busy_ns and its like stay 0.
  std::function<Checked<void>()> steps;
  // Looks at the results of the latest iteration. Called after at least three iterations that
  // nobody can foresee, and after the last. The device is idle; the next prepare comes after it.
  std::function<Checked<void>()> inspect;
};

// Samples of one contender: per-iteration span in nanoseconds, and its per-node facts.
struct Samples {
  std::vector<double> span_ns;
  std::vector<double> event_ns;  // CUDA events around the same iterations, always recorded
  double busy_ns = 0;
  int activities = 0;      // kernels, copies and fills per iteration
  double own_busy_ns = 0;  // of activities whose name is in `own_kernels`
  std::string clock;       // "cupti-graph" | "cupti-activity" | "cuda-events"
  std::string note;        // why a weaker clock was used
};

// Call once, after `import torch` and before any CUDA graph is instantiated. Never fails: without
// CUPTI events decide, and `CuptiStatus` says so.
void InitTiming();
std::string CuptiStatus();  // "13.0" or, in a sentence, why it is not used

// Alternates the contenders (A B A B ...), cold L2 each, until every interval is narrow enough or
// the limit is reached. Result order = contender order. The first faulty call of a contender ends
// it; a contender that breaks the device shows as the fault of the next synchronisation.
// `condition`, if not null: how the GPU fared meanwhile; nothing where there is no NVML.
Checked<std::vector<Samples>> MeasureInterleaved(const std::vector<Contender>& contenders,
                                                 const std::vector<std::string>& own_kernels,
                                                 const EvalOptions& options,
                                                 std::optional<GpuCondition>* condition = nullptr);

// Millijoules of one run of `contender`: prepared once, then run back to back for at least
// `seconds`, over what NVML counted meanwhile (the whole board, idle power included). Nothing where
// NVML does not tell.
Checked<std::optional<double>> MillijoulesPerRun(const Contender& contender, double seconds);

// Median and its interval, in milliseconds. `samples.span_ns` must not be empty.
Timing Summarise(const Samples& samples);
// Ratio of medians with its interval; neither side may be empty.
Speedup Ratio(const std::vector<double>& baseline_ns, const std::vector<double>& candidate_ns);

}  // namespace cudaagent::measure
