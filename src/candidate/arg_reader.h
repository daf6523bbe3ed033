// Arguments of kernels and ops, and names a plan makes, from JSON. Private to this room.
#pragma once

#include <string>

#include "candidate/plan.h"
#include "candidate/reader.h"

namespace cudaagent::candidate {

// All throw Refusal.
KernelArg ReadKernelArg(const Node& node);
OpValue ReadOpValue(const Node& node);
// A name the plan itself makes: an identifier, "{expr}" pieces allowed, no word of the format.
void CheckOwnName(const Node& node, const std::string& name);

}  // namespace cudaagent::candidate
