#include "prompt/figures.h"

#include <spdlog/fmt/fmt.h>

namespace cudaagent::prompt {

std::string Number(double value, int digits) { return fmt::format("{:.{}g}", value, digits); }

std::string TimingText(const Timing& timing, bool estimated) {
  if (estimated) return "about " + Number(timing.median_ms) + " ms (estimated)";
  return Number(timing.median_ms) + " ms [" + Number(timing.ci_low_ms) + ", " +
         Number(timing.ci_high_ms) + "]";
}

std::string SpeedupText(const Speedup& speedup, bool estimated) {
  if (estimated) return "about " + Number(speedup.value, 3) + "x";
  return Number(speedup.value, 3) + "x [" + Number(speedup.low, 3) + ", " +
         Number(speedup.high, 3) + "]";
}

}  // namespace cudaagent::prompt
