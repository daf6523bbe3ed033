// The combinations of a plan's tune values, and the chosen one written into a candidate's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/plan.h"
#include "cudaagent/fault.h"
#include "cudaagent/problem.h"

namespace cudaagent::candidate {

using TuneValues = std::map<std::string, int64_t>;

struct Combinations {
  std::vector<TuneValues> values;  // each once
  int64_t left_out = 0;            // more that satisfy `require`
  bool all_seen = true;  // false: there are more than were looked at, and left_out is a lower bound
};

// The combinations that satisfy `require` for this problem (one whose conditions have no value does
// not), at most `most`. The plan's default (Plan::DefaultTune) comes first where it satisfies them,
// then those nearest to the front of the lists: an author writes what he expects to win first.
Combinations TuneCombinations(const Plan& plan, const ProblemInfo& problem, size_t most);

// `source` with "tuned": {...} in its plan, replaced where there is one, else right after "tune".
// Nothing else changes, line breaks neither. `values` names every tune entry. kBadCandidate where
// `source` does not parse.
Checked<std::string> WithTuned(std::string_view source, const TuneValues& values);

// "BLOCK = 256, VEC = 2", for sentences.
std::string TuneText(const TuneValues& values);

}  // namespace cudaagent::candidate
