// What a run came to: its summary for people and programs, and the exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/also.h"
#include "search/refine.h"

namespace cudaagent::cli {

// The attempt that would be best by its time had it not been caught: its judgement is
// kSuspectedHack, and it is faster than the best, or there is no best. Null where there is none.
const Attempt* Quarantined(const search::Outcome& outcome);

// `folder`: of the run. `also`: the best kernel at further shapes.
nlohmann::json SummaryJson(const search::Outcome& outcome, const std::string& folder,
                           const std::vector<AlsoResult>& also);
std::string SummaryText(const search::Outcome& outcome, const std::string& folder,
                        const std::vector<AlsoResult>& also);

int ExitCodeOfOutcome(const search::Outcome& outcome, const search::Limits& limits);

}  // namespace cudaagent::cli
