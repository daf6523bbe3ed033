// Durations and sizes on the command line.
#pragma once

#include <cstdint>
#include <string>

#include "cudaagent/result.h"

namespace cudaagent::cli {

// "90", "90s", "10m", "2h", "1.5h", "30d" in seconds; anything else is kUsage.
Result<double> ParseDuration(const std::string& text);

// "1048576", "500MB", "2GiB" in bytes; anything else is kUsage.
Result<int64_t> ParseSize(const std::string& text);

}  // namespace cudaagent::cli
