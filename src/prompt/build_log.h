// What of a compiler's log is worth reading. Private to this room.
#pragma once

#include <string>
#include <string_view>

namespace cudaagent::prompt {

// The first `count` errors with the source lines the compiler shows for them; the whole log where
// nothing in it looks like an error. `more` receives how many errors were left out.
std::string FirstErrors(std::string_view log, int count, int* more);

}  // namespace cudaagent::prompt
