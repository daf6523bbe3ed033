// What a PTX module defines and what it expects from outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/evaluation.h"

namespace cudaagent::compile {

struct PtxSymbols {
  std::vector<std::string> entries;  // kernels (.entry), mangled
  std::vector<std::string>
      extern_functions;  // .extern .func, mangled: the driver would supply them
  // What only code that wants to know of its measurement, or to outlast it, needs: clocks, what
  // tells one launch from another, and cache policies that keep or drop lines for good. Each once,
  // as PTX spells it.
  std::vector<std::string> forbidden;
  // Legal, and worth telling a reader of the figures: prefetches, other cache policies, dependent
  // launches.
  std::vector<std::string> flags;
  std::vector<DeviceVariable> device_state;
  // Bytes of static memory: all of .global; the largest .shared and .local variable.
  int64_t global_bytes = 0, shared_bytes = 0, local_bytes = 0;
};

// Instructions are found wherever on a line they stand: a candidate's inline assembly may begin one
// with anything. Comments and quoted text are no concern. Linear in practice.
PtxSymbols ScanPtx(std::string_view ptx);

}  // namespace cudaagent::compile
