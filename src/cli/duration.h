// Durations on the command line.
#pragma once

#include <string>

#include "cudaagent/result.h"

namespace cudaagent::cli {

// "90", "90s", "10m", "2h", "1.5h" in seconds; anything else is kUsage.
Result<double> ParseDuration(const std::string& text);

}  // namespace cudaagent::cli
