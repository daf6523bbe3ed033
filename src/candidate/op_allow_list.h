// Which ATen operators a plan may call. An operator is host code: what is not listed is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::candidate {

// `op` as plans write it, without overload: "aten::linear".
bool IsAllowedOp(std::string_view op);

// Every allowed name, sorted.
const std::vector<std::string>& AllowedOps();

}  // namespace cudaagent::candidate
