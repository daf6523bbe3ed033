// Diagnostics on stderr. stdout is for results only. Thread-safe.
#pragma once

#include <string_view>

#include "cudaagent/result.h"

namespace cudaagent::util {

// "debug" | "info" | "warn" | "error" | "off"; anything else is kUsage. Before the first call the
// level is "warn". Lines read "[level] text", coloured only where stderr is a terminal.
Result<void> SetLogLevel(std::string_view level);

void LogDebug(std::string_view text);
void LogInfo(std::string_view text);
void LogWarn(std::string_view text);
void LogError(std::string_view text);

}  // namespace cudaagent::util
