// How long a search goes on, as optimize and bench share it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cudaagent/result.h"
#include "search/refine.h"

namespace cudaagent::cli {

struct SearchFlags {
  search::Limits limits;         // as far as flags say them directly; ToLimits() has the whole
  double target_speedup = 0;     // 0 = none
  std::string max_time;          // "" = none
  int64_t max_tokens_total = 0;  // 0 = none
  bool no_tune = false;
  bool no_confirm = false;
};

void AddSearchFlags(CLI::App& command, SearchFlags& flags);

// Where the random inputs of a run come from: nobody can foresee it. Never 0.
uint64_t FreshSeed();

// kUsage where --max-time is no duration.
Result<search::Limits> ToLimits(const SearchFlags& flags);

}  // namespace cudaagent::cli
