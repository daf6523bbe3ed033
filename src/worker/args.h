// The worker's command line.
#pragma once

#include <string>
#include <vector>

#include "cudaagent/result.h"

namespace cudaagent::worker {

struct Args {
  bool gpu = false;                // else the CPU device
  int gpu_index = 0;               // among the visible ones
  std::string model_gpu = "h200";  // CPU device: whose ceilings the estimate uses
  bool spare = false;              // import first, open the device when fd 3 becomes readable
};

// `arguments` without the program's name. kUsage names the argument.
Result<Args> ParseArgs(const std::vector<std::string>& arguments);

}  // namespace cudaagent::worker
