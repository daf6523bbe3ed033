// Timings and speedups in words. Private to this room.
#pragma once

#include <string>

#include "cudaagent/evaluation.h"

namespace cudaagent::prompt {

std::string Number(double value,
                   int digits = 4);  // "0.1234", "12.3", "1.2e-05": significant digits
// "0.1234 ms [0.123, 0.124]", "about 0.1234 ms (estimated)".
std::string TimingText(const Timing& timing, bool estimated);
// "1.62x [1.6, 1.64]", "about 1.62x".
std::string SpeedupText(const Speedup& speedup, bool estimated);

}  // namespace cudaagent::prompt
