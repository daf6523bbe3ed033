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
};

// Reads directives at the start of lines; comments and instructions are no concern. Linear.
PtxSymbols ScanPtx(std::string_view ptx);

}  // namespace cudaagent::compile
