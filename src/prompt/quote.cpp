#include "prompt/quote.h"

#include <algorithm>

#include "util/text.h"

namespace cudaagent::prompt {

std::string Fenced(std::string_view text, std::string_view language, size_t max_bytes) {
  const std::string clean = util::SanitiseLog(text, max_bytes);
  size_t longest = 2;
  size_t run = 0;
  for (char c : clean) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  std::string block = fence + std::string(language) + "\n" + clean;
  if (!block.ends_with('\n')) block += '\n';
  return block + fence;
}

std::string OneLine(std::string_view text, size_t max_bytes) {
  std::string line = util::SanitiseLog(text, std::max<size_t>(max_bytes, 256) * 4);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (line.size() > max_bytes) line = util::SanitiseUtf8(line.substr(0, max_bytes)) + "...";
  return line;
}

}  // namespace cudaagent::prompt
