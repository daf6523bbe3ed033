// State that a module keeps between calls: __device__ variables that its code writes.
#pragma once

#include <string_view>
#include <vector>

#include "cudaagent/evaluation.h"

namespace cudaagent::compile {

// In the order of their declaration, those first that are `certain`ly written. A variable whose
// address leaves the registers it was put in (passed to a function, stored, put into another one's
// initialiser) may be written; one that is only read, as NVRTC's form of a constant table is, is no
// state. Addresses are followed through registers within a function, without regard to the order of
// instructions. `plain_ptx`: as PlainPtx() makes it.
std::vector<DeviceVariable> FindDeviceState(std::string_view plain_ptx);

}  // namespace cudaagent::compile
