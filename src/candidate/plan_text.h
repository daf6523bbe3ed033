// Where a plan stands in a text. Private to this room.
#pragma once

#include <cstddef>
#include <string_view>

namespace cudaagent::candidate {

// Offset of the next "/*cudaagent" comment from `from` on, npos where there is none.
size_t FindPlanMarker(std::string_view text, size_t from);

}  // namespace cudaagent::candidate
