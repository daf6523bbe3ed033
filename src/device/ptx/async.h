// The copies (cp.async) that one warp's lanes have issued and not yet waited for.
#pragma once

#include <cstdint>
#include <vector>

#include "device/ptx/program.h"

namespace cudaagent::device::ptx {

struct AsyncCopy {
  uint32_t to = 0;     // shared memory
  uint32_t group = 0;  // of its lane: the first is 1
  uint32_t pc = 0;
  uint8_t lane = 0;
  uint8_t bytes = 0;
  uint8_t data[16] = {};  // as the source was when the copy was issued
};

struct AsyncQueue {
  std::vector<AsyncCopy> copies;
  uint32_t committed[kLanes] = {};  // groups, per lane
  void Clear() {
    copies.clear();
    for (uint32_t& groups : committed) groups = 0;
  }
};

}  // namespace cudaagent::device::ptx
