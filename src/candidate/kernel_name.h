// "ns::name<args>": taken apart, and put together again with values. Private to this room.
#pragma once

#include <string>
#include <string_view>

#include "candidate/plan.h"
#include "cudaagent/fault.h"

namespace cudaagent::candidate {

// ident(::ident)*(<args>)?; a template argument is an integer, true or false, an identifier or type
// ("BLOCK", "float", "Op<float>", "const __half*") or "{expr}".
Checked<KernelName> ParseKernelName(std::string_view text);

}  // namespace cudaagent::candidate
