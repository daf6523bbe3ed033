// A look at CUDA text without parsing it: comments and strings blanked, identifiers, kernels, and
// host code that has no place in a candidate.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/fault.h"

namespace cudaagent::candidate {

// `code` with comments, string and character literals as spaces; lines and offsets are kept. The
// operand of #include stays.
std::string BlankComments(std::string_view code);

// Every identifier of blanked code.
std::set<std::string, std::less<>> Identifiers(std::string_view blanked);

// Names that follow __global__ and precede "(", in order.
std::vector<std::string> GlobalFunctions(std::string_view blanked);

// kBadCandidate for a launch, main, host libraries and host API calls, with the line.
Checked<void> RefuseHostCode(std::string_view blanked);

}  // namespace cudaagent::candidate
