#include "device/gpu/context.h"

namespace cudaagent::device::gpu {

Fault Context::Record(CUresult result, const std::string& kernel) {
  const bool poisons = Diagnose(result).poisons;
  poisoned = poisoned || poisons;
  // A fault reported at a launch is an earlier kernel's: the launch itself has not run yet.
  if (kernel.empty() || poisons) return Explain(result, suspects, guard);
  return Explain(result, {kernel}, guard);
}

}  // namespace cudaagent::device::gpu
