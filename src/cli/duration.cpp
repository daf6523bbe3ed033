#include "cli/duration.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include "util/text.h"

namespace cudaagent::cli {

Result<double> ParseDuration(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit.empty() || unit == "s" ? 1
                        : unit == "m"               ? 60
                        : unit == "h"               ? 3600
                        : unit == "d"               ? 86400
                                                    : 0;
  if (end == text.c_str() || factor == 0 || !std::isfinite(number) || number < 0) {
    return Fail(ErrorCode::kUsage,
                "\"" + util::SanitiseUtf8(text) +
                    "\" is not a duration. Write seconds, or 90s, 10m, 2h, 30d.");
  }
  return number * factor;
}

Result<int64_t> ParseSize(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  static const std::map<std::string, double> kUnits = {
      {"", 1},          {"B", 1},
      {"KB", 1e3},      {"MB", 1e6},
      {"GB", 1e9},      {"TB", 1e12},
      {"KiB", 1 << 10}, {"MiB", 1 << 20},
      {"GiB", 1 << 30}, {"TiB", double(int64_t{1} << 40)}};
  const auto unit = kUnits.find(end);
  if (end == text.c_str() || unit == kUnits.end() || !std::isfinite(number) || number < 0 ||
      number * unit->second > 9e18) {
    return Fail(ErrorCode::kUsage,
                "\"" + util::SanitiseUtf8(text) + "\" is not a size. Write bytes, or 500MB, 2GiB.");
  }
  return static_cast<int64_t>(number * unit->second);
}

}  // namespace cudaagent::cli
