// Gates: what makes a bench fail a build. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/scores.h"

namespace cudaagent::bench {

struct Requirement {
  std::string score;  // as Figure takes it
  double least = 0;
};
// "fast_1=0.6". kUsage for anything else.
Result<Requirement> ParseRequirement(const std::string& text);

// A sentence where the score is below what is required, "" where it is not.
Result<std::string> Check(const Requirement& requirement, const Scores& scores);

enum class Change {
  kSame,         // or faster
  kFaster,       // by more than the threshold
  kSlower,       // a regression
  kBroken,       // a regression: was correct, is not
  kNotCompared,  // no time, another device or other rules, a failed machine, a problem only one of
                 // them has
};

struct ProblemChange {
  std::string problem;
  int sample = 0;
  Change change = Change::kNotCompared;
  std::string words;  // one sentence
  bool regression() const { return change == Change::kSlower || change == Change::kBroken; }
};

// Each problem of `before` that was correct then, against now; `keys` are the problems of this
// bench, others are left out. Slower: by more than max(margin, 3 sigma), sigma being that of the
// ratio, from both measurements' 95 % intervals. Estimates on the same
// inputs (the same kernel and seed) are exact: there any difference beyond rounding counts; on
// other inputs half a percent may be the inputs'.
std::vector<ProblemChange> Against(const std::vector<Row>& before, const std::vector<Row>& now,
                                   const std::vector<std::string>& keys, double margin);
ProblemChange CompareRows(const Row& before, const Row& now, double margin);

}  // namespace cudaagent::bench
