// Others' text inside a prompt: fenced so that it cannot end the fence, capped. Private to this
// room.
#pragma once

#include <string>
#include <string_view>

namespace cudaagent::prompt {

// A Markdown code block whose fence is longer than any in `text`. Control characters are removed;
// beyond `max_bytes` the middle is left out, and a line says so.
std::string Fenced(std::string_view text, std::string_view language, size_t max_bytes);

// One line: newlines and control characters become spaces, beyond `max_bytes` it is cut.
std::string OneLine(std::string_view text, size_t max_bytes = 400);

}  // namespace cudaagent::prompt
