// What a PTX module defines and what it expects from outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::compile {

struct PtxSymbols {
  std::vector<std::string> entries;  // kernels (.entry), mangled
  std::vector<std::string>
      extern_functions;  // .extern .func, mangled: the driver would supply them
  // What only code that wants to know of its measurement, or to outlast it, needs: clocks, and
  // cache policies that keep or drop lines for good. Each once, as PTX spells it.
  std::vector<std::string> forbidden;
  // Legal, and worth telling a reader of the figures: prefetches, other cache policies, dependent
  // launches.
  std::vector<std::string> flags;
};

// Reads directives at the start of lines and words of instructions; comments are no concern. Linear.
PtxSymbols ScanPtx(std::string_view ptx);

}  // namespace cudaagent::compile
