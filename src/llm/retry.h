// When to ask again, and how long to wait. Private to this room.
#pragma once

#include <ctime>
#include <map>
#include <optional>
#include <string>

#include "llm/http.h"

namespace cudaagent::llm {

// 408, 409, 429, 5xx; `x-should-retry` overrides.
bool IsRetryable(long status, const std::map<std::string, std::string>& headers);

// Seconds the server asks to wait: retry-after-ms, else retry-after (seconds or an HTTP date).
std::optional<double> RequestedWait(const std::map<std::string, std::string>& headers,
                                    std::time_t now);

// "Full jitter": uniform in [0, min(cap, base * 2^attempt)]. `uniform` is in [0, 1).
double BackoffSeconds(int attempt, double base_s, double cap_s, double uniform);

}  // namespace cudaagent::llm
