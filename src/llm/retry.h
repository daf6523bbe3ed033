// When to ask again, and how long to wait. Private to this room.
#pragma once

#include <ctime>
#include <map>
#include <optional>
#include <string>

#include "util/time.h"

namespace cudaagent::llm {

// 408, 409, 429, 5xx; `x-should-retry` overrides.
bool IsRetryable(long status, const std::map<std::string, std::string>& headers);

// Seconds the server asks to wait: retry-after-ms, else retry-after (seconds or an HTTP date).
std::optional<double> RequestedWait(const std::map<std::string, std::string>& headers,
                                    std::time_t now);

// "Full jitter": uniform in [0, min(cap, base * 2^attempt)]. `uniform` is in [0, 1).
double BackoffSeconds(int attempt, double base_s, double cap_s, double uniform);

struct RetryLimits {
  int max_tries = 20;  // in a row without an answer
  double base_s = 1;   // full jitter: a random wait below min(cap, base * 2^n)
  double cap_s = 60;
  double give_up_s = 300;  // after the first failure in a row no try begins later than this
};

// The circuit breaker: counts an endpoint's failures in a row and says when there were too many.
class Breaker {
 public:
  explicit Breaker(RetryLimits limits) : limits_(limits) {}

  void Succeeded() { failures_ = 0; }
  // A try failed. Seconds to wait before the next, or nullopt where there is to be none: `why` then
  // tells in a sentence. `requested_s` is the server's own wish. `uniform` is in [0, 1).
  std::optional<double> Failed(std::optional<double> requested_s, double uniform, std::string* why);

 private:
  RetryLimits limits_;
  int failures_ = 0;
  util::Stopwatch failing_;  // since the first of them
};

}  // namespace cudaagent::llm
