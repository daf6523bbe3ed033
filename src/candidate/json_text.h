// The plan's JSON: strict but for "//" comments, order of keys kept, duplicates refused, nesting
// and counts bounded. Private to this room.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "cudaagent/fault.h"

namespace cudaagent::candidate {

using Json = nlohmann::ordered_json;

// Sentences say "plan, line N", counting from `first_line`, the line of the file `text` starts on.
// `text` must be valid UTF-8.
Checked<Json> ParsePlanJson(std::string_view text, int first_line);

}  // namespace cudaagent::candidate
