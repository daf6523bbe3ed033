#include "device/ptx/source_lines.h"

#include <charconv>

namespace cudaagent::device::ptx {
namespace {

uint32_t Number(std::string_view text, size_t& at) {
  at = text.find_first_of("0123456789", at);
  uint32_t value = 0;
  if (at == std::string_view::npos) {
    at = text.size();
    return 0;
  }
  auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  at = static_cast<size_t>(end - text.data());
  return code == std::errc() ? value : 0;
}

}  // namespace

void SourceLines::Loc(std::string_view text) {
  size_t at = 4;  // past ".loc"
  auto place = [&] {
    uint32_t file = Number(text, at);
    uint32_t line = Number(text, at);
    uint32_t column = Number(text, at);
    return Place{file, line, column};
  };
  Place here = place();
  if (own_file_ == 0) own_file_ = std::get<0>(here);
  size_t inlined = text.find("inlined_at");
  if (inlined != std::string_view::npos) {
    at = inlined;
    inlined_at_[here] = place();
  } else {
    inlined_at_.erase(here);
  }
  for (int depth = 0; depth < 64 && std::get<0>(here) != own_file_; ++depth) {
    auto outer = inlined_at_.find(here);
    if (outer == inlined_at_.end()) break;
    here = outer->second;
  }
  if (std::get<0>(here) == own_file_ && std::get<1>(here) != 0) line_ = std::get<1>(here);
}

}  // namespace cudaagent::device::ptx
