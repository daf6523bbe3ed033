// Best kernels on disk: best/<key>.cu and beside it best/<key>.json, which says how it was judged,
// by which rules, where, and how it came about; `eval --reproduce` reads it.
#pragma once

#include <string>

#include "bench/row.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "evaluate/evaluator.h"

namespace cudaagent::bench {

struct BestKernel {
  ProblemSpec
      spec;  // the source included, so that the problem can be judged where its file is gone
  EvalOptions options;
  std::string reward, baseline;
  Evaluation evaluation;
  std::string source;   // of the kernel
  std::string origin;   // who wrote it
  std::string run;      // the folder it comes from
  int attempt = -1;     // -1 = it was given, not searched for
  std::string version;  // of cudaagent
};

// Writes FOLDER/<key>.cu and FOLDER/<key>.json, the kernel first.
Result<void> WriteBest(const std::string& folder, const std::string& key, const BestKernel& best);
// Reads what WriteBest wrote, the kernel beside it included. kUsage where the kernel is not the one
// that was judged, or the file is none of these.
Result<BestKernel> ReadBest(const std::string& json_path);

enum class Reproduction { kConfirmed, kRefuted, kNotComparable };
struct Verified {
  Reproduction what = Reproduction::kNotComparable;
  std::string why;  // one sentence
};
// What `now`, an evaluation of the same kernel, says of the recorded one. Refuted: it is no longer
// correct, or slower by more than `margin` beyond both intervals (an estimate: by anything). Not
// comparable: another device, other rules, or the machine failed.
Verified Reproduce(const Evaluation& recorded, const Evaluation& now, double margin);

}  // namespace cudaagent::bench
