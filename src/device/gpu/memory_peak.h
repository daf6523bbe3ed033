// What torch's allocator gives out while something runs.
#pragma once

#include <cstdint>

namespace cudaagent::device::gpu {

// From its making on, of the device torch is set to on this thread. One at a time: making it resets
// the allocator's own peak.
class MemoryPeak {
 public:
  MemoryPeak();
  // The most bytes allocated at once, above those allocated at the start.
  int64_t bytes() const;

 private:
  int64_t start_ = 0;
};

}  // namespace cudaagent::device::gpu
