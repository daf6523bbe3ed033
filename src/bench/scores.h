// Scores of a batch: pure functions of its rows. Definitions in docs/bench.md.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/row.h"

namespace cudaagent::bench {

// One row as scores see it.
struct Sampled {
  bool correct = false;
  double eager = 0;    // speedup over PyTorch eager; 0 = none, as of every incorrect row
  double compile = 0;  // over torch.compile
  double deciding = 0;
  double sol =
      0;  // share of the speed of light: 1 = as fast as the device's ceilings allow; 0 = none
};
Sampled ResultOf(const Row& row);

// count(correct and speedup > p) / n. Strict, as KernelBench's code is; n counts every problem. 0
// for n = 0.
double FastP(const std::vector<double>& speedups_of_correct, double p, int n);

// exp(mean(log x)) of the positive values; nullopt where there is none.
std::optional<double> GeometricMean(const std::vector<double>& values);

// The unbiased estimator 1 - C(n - c, k) / C(n, k) of n samples, c of them correct, n >= k >= 1
// (Chen et al. 2021, arXiv 2107.03374).
double PassAtK(int n, int c, int k);

struct PassAt {
  int k = 1;
  double value = 0;  // mean over the problems that have at least k samples
  int problems = 0;  // how many these are
};

struct Scores {
  int problems = 0;     // chosen, whether or not they have a row
  int rows = 0;         // samples with a row
  int correct = 0;      // problems whose first sample is correct
  int own_kernels = 0;  // of the correct: with kernels of their own, not ATen operators alone
  int degenerate = 0;   // problems that are; they count in `problems`
  std::map<std::string, int> outcomes;   // of the first samples; "no_row" for those without
  std::map<std::string, double> fast_p;  // "1" -> share, over the deciding baseline
  std::map<std::string, double> fast_p_eager;
  std::optional<double> geomean_eager, geomean_compile,
      geomean_deciding;  // over the correct and timed
  std::optional<double>
      geomean_faster;  // over those alone that are faster than the deciding baseline
  int geomean_n = 0;   // how many the first three are over, at most
  std::optional<double>
      geomean_sol;  // of the shares of the speed of light, over the correct that have one
  int sol_n = 0;    // how many these are
  std::vector<PassAt> pass_at;
  std::optional<double> best_of_samples_fast_1;  // where there are several samples
  int64_t tokens = 0;
  double seconds = 0;      // of all rows together
  bool estimated = false;  // times are the CPU device's estimates
};

// What a gate or a report may ask of: "fast_1", "fast_1.5", "fast_1_eager", "correctness",
// "geomean", "geomean_eager", "geomean_compile", "geomean_sol", "pass@5". kUsage for other names,
// or where there is no such figure.
Result<double> Figure(const Scores& scores, const std::string& name);

struct ScoreOptions {
  std::vector<double> p = {0, 0.5, 0.8, 1, 1.5, 2};
  std::vector<int> k = {1, 5, 10};  // those that no problem has samples enough for are left out
};

// Rows in any order, several samples each; `keys` are the problems that were chosen. A problem's
// first sample decides all but pass@k and the best of samples.
Scores Score(const std::vector<Row>& rows, const std::vector<std::string>& keys,
             const ScoreOptions& options);

// Overall and by level, each with and without degenerate problems.
struct ScoreTable {
  Scores all, without_degenerate;
  std::map<int, std::pair<Scores, Scores>>
      levels;  // level -> with, without; empty where there are none
};
ScoreTable ScoreAll(const std::vector<Row>& rows, const std::vector<std::string>& keys,
                    const ScoreOptions& options);

nlohmann::json ToJson(const Scores& scores);
nlohmann::json ToJson(const ScoreTable& table);

}  // namespace cudaagent::bench
