#include "llm/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "util/text.h"

namespace cudaagent::llm {
namespace {

std::optional<double> Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != 0 || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

}  // namespace

bool IsRetryable(long status, const std::map<std::string, std::string>& headers) {
  if (auto word = headers.find("x-should-retry"); word != headers.end()) {
    if (word->second == "true") return true;
    if (word->second == "false") return false;
  }
  return status == 408 || status == 409 || status == 429 || status >= 500;
}

std::optional<double> RequestedWait(const std::map<std::string, std::string>& headers,
                                    std::time_t now) {
  if (auto millis = headers.find("retry-after-ms"); millis != headers.end()) {
    if (auto value = Number(millis->second)) return *value / 1000;
  }
  auto after = headers.find("retry-after");
  if (after == headers.end()) return std::nullopt;
  if (auto seconds = Number(after->second)) return seconds;
  const std::time_t date = curl_getdate(after->second.c_str(), nullptr);
  if (date == -1) return std::nullopt;
  return std::max(0.0, std::difftime(date, now));
}

double BackoffSeconds(int attempt, double base_s, double cap_s, double uniform) {
  return uniform * std::min(cap_s, base_s * std::pow(2.0, std::min(attempt, 30)));
}

std::optional<double> Breaker::Failed(std::optional<double> requested_s, double uniform,
                                      std::string* why) {
  if (failures_++ == 0) failing_ = util::Stopwatch();
  const double wait = requested_s
                          ? *requested_s
                          : BackoffSeconds(failures_ - 1, limits_.base_s, limits_.cap_s, uniform);
  const double elapsed = failing_.Seconds();
  if (failures_ < limits_.max_tries && elapsed + wait <= limits_.give_up_s) return wait;
  *why = "Gave up after " + std::to_string(failures_) +
         (failures_ == 1 ? " try" : " tries in " + util::FormatSeconds(elapsed));
  if (failures_ < limits_.max_tries) {
    if (requested_s) *why += ": it asks to wait " + util::FormatSeconds(wait);
    *why += "; --llm-give-up is " + util::FormatSeconds(limits_.give_up_s);
  }
  *why += ".";
  return std::nullopt;
}

}  // namespace cudaagent::llm
