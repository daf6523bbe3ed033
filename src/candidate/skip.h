// Stepping over text, for whoever scans code without parsing it.
#pragma once

#include <cstddef>
#include <string_view>

#include "candidate/spelling.h"

namespace cudaagent::candidate {

// The first offset from `at` on that is no white space; text.size() where there is none.
constexpr size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// One past the ")" that closes the "(" at `at`; text.size() where it is not closed.
constexpr size_t SkipParentheses(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return at;
}

}  // namespace cudaagent::candidate
