// A fault of the executor as one sentence with kernel, line, thread, address and buffer.
#pragma once

#include <string>

#include "cudaagent/fault.h"
#include "device/ptx/machine.h"

namespace cudaagent::device::ptx {

// `launch` is the one the fault came from; its allocation table is searched for the nearest buffer.
Fault Describe(const FaultState& fault, const LaunchState& launch);

// "block (1,0,0), warp 2: lanes 0x0000ffff wait at line 12 (bar.sync 0); ..." for every waiting
// group.
std::string WhoWaits(const BlockState& block, const LaunchState& launch);

// "_ZZ2k1E3cnt" -> "cnt"; other names stay.
std::string ShownVariable(const std::string& name);

std::string Triple(uint64_t x, uint64_t y, uint64_t z);  // "(1,2,3)"

}  // namespace cudaagent::device::ptx
