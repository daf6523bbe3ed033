// Runs one launch: blocks on host threads, counters, the first fault in block order.
#pragma once

#include <memory>
#include <string>
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
  void (*print)(LaunchState&, const char* text) = nullptr;
  void* print_to = nullptr;
};

// Runs to the end. Counters do not depend on the number of host threads; a fault is that of the
// lowest faulting block. `used` is increased by the thread instructions executed.
Checked<Counters> RunLaunch(const LaunchRequest& request, uint64_t* used);

}  // namespace cudaagent::device::ptx
