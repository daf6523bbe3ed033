// What a CUresult means for a candidate. Decided by number, never by message text.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "cudaagent/fault.h"
#include "device/guard.h"

namespace cudaagent::device::gpu {

struct Diagnosis {
  Verdict verdict = Verdict::kInfraError;
  // True: the context is useless from now on and only the death of the process cures it. Only
  // results on the allow-list of harmless ones do not poison.
  bool poisons = true;
  // Follows the kernel's name: "accessed memory outside every allocation (CUDA error 700)".
  std::string predicate;
};

// `result` must not be CUDA_SUCCESS.
Diagnosis Diagnose(CUresult result);

// One sentence about what `kernels` (names as the plan writes them, those that may be at fault)
// did. It says so where strict guards make it a fault.
Fault Explain(CUresult result, const std::vector<std::string>& kernels,
              Guard guard = Guard::kZones);

}  // namespace cudaagent::device::gpu
