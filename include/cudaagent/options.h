// How an evaluation is to be done. Defaults are the product's; docs/measurement.md explains each.
#pragma once

#include <cstdint>
#include <string>

namespace cudaagent {

struct EvalOptions {
  int trials = 5;                 // fresh random inputs that must all verify
  std::string tier = "verified";  // deciding tolerance: "verified" | "kernelbench" | "cuda-agent"
  bool hidden_variants = true;    // also scaled inputs, new parameters, determinism, strict tier
  bool races = true;         // GPU: also interpret some blocks to find races; needs hidden_variants
  double time_limit_s = 10;  // wall clock for the timing phase of one candidate
  int min_iterations = 10;
  int max_iterations = 200;
  double ci_half_width = 0.01;     // stop when the median's 95 % interval is within +-1 %
  bool warm_l2 = false;            // leave the cache as the previous iteration left it
  std::string clock = "cupti";     // "cupti" | "events": CUDA events even where there is CUPTI
  bool energy = false;             // measure energy too: half a second more for each side
  bool check_only = false;         // verify, do not time
  std::string guard = "zones";     // around buffers on a GPU: "zones" | "strict" (unmapped memory)
  bool allow_prepare = true;       // a plan may make values of the parameters once, untimed
  std::string model_gpu = "h200";  // CPU device: the GPU whose ceilings the estimate uses
  uint64_t seed =
      0;  // the random inputs follow from it and the candidate; 0 = from the system, each time
  uint64_t instruction_budget =
      20'000'000'000;  // CPU device: thread instructions per run before kTimedOut
};

}  // namespace cudaagent
