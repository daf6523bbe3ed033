// Which of two evaluations of one problem is faster, and how sure that is. Pure.
#pragma once

#include <string>

#include "cudaagent/evaluation.h"
#include "cudaagent/result.h"

namespace cudaagent::reward {

enum class Relation { kFaster, kSlower, kSame, kUnsure };

// "faster", ... as in JSON.
const char* ToString(Relation relation);

struct Comparison {
  Relation relation = Relation::kUnsure;
  Speedup ratio;           // time of B / time of A with a 95 % interval: above 1, A is faster
  bool by_eager = false;   // through each one's speedup over the eager it alternated with
  bool estimated = false;  // the CPU device's opinion: exact, and no measurement
};

// A against B. Faster or slower: the interval lies beyond 1 by more than `margin`; same: it lies
// within it; else unsure. Where both alternated with eager, drift of the device between the two
// measurements cancels: the ratio is that of their speedups, and intervals combine in quadrature on
// the log scale. kUsage where the two cannot be compared (other problem, device, precision, kind of
// figure, or one has no time), and why.
Result<Comparison> Compare(const Evaluation& a, const Evaluation& b, double margin);

}  // namespace cudaagent::reward
