#include "cli/duration.h"

#include <cmath>
#include <cstdlib>

#include "util/text.h"

namespace cudaagent::cli {

Result<double> ParseDuration(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == text.c_str() || factor == 0 || !std::isfinite(number) || number < 0) {
    return Fail(ErrorCode::kUsage, "\"" + util::SanitiseUtf8(text) +
                                       "\" is not a duration. Write seconds, or 90s, 10m, 2h.");
  }
  return number * factor;
}

}  // namespace cudaagent::cli
