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
  // Every read of %globaltimer stands, by the line table, in a header that a header called: the wait
  // of a barrier or semaphore of the toolkit, and no code of the candidate's own.
  bool timer_only_in_headers = true;
};

// Whether a "#line" or "# 1" in CUDA text renames files or lines, so that a line table says nothing.
bool RenamesLines(std::string_view source);

// Reads directives at the start of lines and words of instructions; comments are no concern. Linear.
PtxSymbols ScanPtx(std::string_view ptx);

}  // namespace cudaagent::compile
