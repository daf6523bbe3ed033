// eval --reproduce best/PROBLEM.json: is the recorded result true here and now?
#pragma once

#include <string>

#include "cli/flags.h"

namespace cudaagent::cli {

// Judges the kernel again by its recorded rules in a fresh worker and prints confirmed, refuted or
// not comparable: exit 0, 5 or 6. Of `flags` the device and the timeouts count.
int RunReproduce(const std::string& json_path, const EvalFlags& flags, const OutputFlags& output);

}  // namespace cudaagent::cli
