// Runs one launch: blocks on host threads, counters, the first fault in block order.
#pragma once

#include <cstdint>
#include <vector>

#include "cudaagent/fault.h"
#include "device/device.h"
#include "device/ptx/machine.h"
#include "device/ptx/ops.h"

namespace cudaagent::device::ptx {

struct LaunchRequest {
  const Kernel* kernel = nullptr;
  const Executor* executor = nullptr;
  Dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  const std::byte* params = nullptr;
  const std::vector<Allocation>* table = nullptr;
  uint32_t sms = 1;
  uint64_t budget = 0;  // thread instructions
  uint64_t number = 0;  // %gridid
  int threads = 1;      // host threads
  bool races = true;    // look for races in shared memory
  // Only these blocks, ascending, of a launch that is not cooperative; null: all.
  const std::vector<uint64_t>* chosen = nullptr;
  void (*print)(LaunchState&, const char* text) = nullptr;
  void* print_to = nullptr;
};

// How a launch ended.
struct LaunchOutcome {
  Counters counters;
  uint64_t ended = 0;  // blocks that ran to their end
  // The fault of the lowest block that had one.
  FaultKind kind = FaultKind::kNone;
  Fault fault;
  // Of chosen blocks, which faulted no block: the budget was spent, or a block kept waiting for
  // what others do (a flag, a ticket). No further block was started then.
  bool spent = false, waits = false;
  bool races = false;  // they were looked for: its records may need too much memory
};

// Runs to the end, or until one of the above stops it. `used` is increased by the thread
// instructions executed.
LaunchOutcome RunBlocks(const LaunchRequest& request, uint64_t* used);

// Runs all blocks to the end. Counters do not depend on the number of host threads; a fault is that
// of the lowest faulting block. `used` is increased by the thread instructions executed.
Checked<Counters> RunLaunch(const LaunchRequest& request, uint64_t* used);

}  // namespace cudaagent::device::ptx
