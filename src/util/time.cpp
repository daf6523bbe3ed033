#include "util/time.h"

#include <ctime>

namespace cudaagent::util {

std::string NowIso8601() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace cudaagent::util
