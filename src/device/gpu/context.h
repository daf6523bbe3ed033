// What the GPU device and its modules share: the driver, and whom to blame.
#pragma once

#include <string>
#include <vector>

#include "cudaagent/fault.h"
#include "device/gpu/diagnosis.h"
#include "device/gpu/driver.h"
#include "device/guard.h"

namespace cudaagent::device {
class Shadow;
}

namespace cudaagent::device::gpu {

struct Context {
  const Driver* driver = nullptr;
  CUcontext primary = nullptr;
  Shadow* shadow = nullptr;  // of the plan that runs now; null: none
  int sms = 0;
  bool poisoned = false;
  Guard guard = Guard::kZones;
  // Kernels launched since their module was loaded, by plan name: a fault that shows later, after
  // a graph replay too, is one of theirs.
  std::vector<std::string> suspects;

  // A result that concerns `kernel` alone; empty = the suspects. Remembers poison.
  Fault Record(CUresult result, const std::string& kernel);
};

}  // namespace cudaagent::device::gpu
