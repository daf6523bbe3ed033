// Timing on a GPU: what docs/measurement.md promises, as one call.
#pragma once

#include <functional>
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
};

// Samples of one contender: per-iteration span in nanoseconds, and its per-node facts.
struct Samples {
  std::vector<double> span_ns;
  double busy_ns = 0;
  int activities = 0;              // kernels, copies and fills per iteration
  double own_busy_ns = 0;          // of activities whose name is in `own_kernels`
  std::string clock;               // "cupti-graph" | "cupti-activity" | "cuda-events"
  std::string note;                // why a weaker clock was used
};

// Call once, after `import torch` and before any CUDA graph is instantiated. Never fails: without
// CUPTI events decide, and `CuptiStatus` says so.
void InitTiming();
std::string CuptiStatus();   // "13.0" or why it is not used

// Alternates the contenders (A B A B ...), cold L2 each, until every interval is narrow enough or
// the limit is reached. Result order = contender order.
Checked<std::vector<Samples>> MeasureInterleaved(const std::vector<Contender>& contenders,
                                                 const std::vector<std::string>& own_kernels,
                                                 const EvalOptions& options);

// statistics.h
Timing Summarise(const Samples& samples);
Speedup Ratio(const std::vector<double>& baseline_ns, const std::vector<double>& candidate_ns);

}  // namespace cudaagent::measure
