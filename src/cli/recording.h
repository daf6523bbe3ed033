// A stored run as a recording: what its proposer answers again, and what must come out again.
#pragma once

#include <string>

#include "cudaagent/result.h"
#include "propose/proposers.h"
#include "search/refine.h"

namespace cudaagent::cli {

// kUsage for a run whose prompts hold times measured on a GPU: no replay gives them again.
Result<propose::Recording> ReadRecording(const std::string& folder);

// kUsage with the first way in which `outcome` is not as the recorded run: a candidate, a verdict
// or, where times are estimates, the best.
Result<void> CompareWithRecording(const std::string& folder, const search::Outcome& outcome);

}  // namespace cudaagent::cli
