// Names with "{expr}" pieces, parsed. Private to this room.
#pragma once

#include <string_view>

#include "candidate/expr_node.h"
#include "cudaagent/fault.h"

namespace cudaagent::candidate {

// kBadCandidate with the column where it went wrong.
Checked<NameTemplate> ParseNameTemplate(std::string_view text);

}  // namespace cudaagent::candidate
