// From .loc directives to lines of the candidate's own source.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

namespace cudaagent::device::ptx {

// For one function. The candidate's file is the one the kernel's first .loc names. Code inlined
// from elsewhere (CUDA's headers) counts for the line of the candidate it was inlined at. Line 0
// (no line) keeps the last.
class SourceLines {
 public:
  // `text`: ".loc 2 107 3, function_name $L__info_string0, inlined_at 1 18 3".
  void Loc(std::string_view text);
  uint32_t line() const { return line_; }

 private:
  using Place = std::tuple<uint32_t, uint32_t, uint32_t>;  // file, line, column
  std::map<Place, Place> inlined_at_;
  uint32_t own_file_ = 0;
  uint32_t line_ = 0;
};

}  // namespace cudaagent::device::ptx
