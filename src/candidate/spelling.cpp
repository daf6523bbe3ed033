#include "candidate/spelling.h"

#include <algorithm>
#include <cstdio>

#include "util/text.h"

namespace cudaagent::candidate {
std::string Quote(std::string_view text, size_t limit) {
  bool cut = text.size() > limit;
  if (cut) {
    text = text.substr(0, limit);
    // Never end inside a UTF-8 sequence.
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
      text.remove_suffix(1);
    }
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.remove_suffix(1);
  }
  std::string quoted = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + (cut ? "...\"" : "\"");
}

std::string Suggest(std::string_view name, const std::vector<std::string>& known, size_t limit) {
  if (name.size() <= 200) {
    if (auto nearest = util::NearestName(name, known)) {
      return "; did you mean " + Quote(*nearest) + "?";
    }
  }
  if (known.empty()) return "";
  std::string list = "; known: ";
  for (size_t i = 0; i < known.size() && i < limit; ++i) list += (i ? ", " : "") + known[i];
  return list + (known.size() > limit ? ", ..." : "");
}

int LineOf(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + offset, '\n'));
}

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    unsigned char lead = at(i);
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (size_t k = 1; k < length; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return i;
    }
    // Overlong forms, surrogates, beyond U+10FFFF.
    if ((lead == 0xE0 && at(i + 1) < 0xA0) || (lead == 0xED && at(i + 1) > 0x9F) ||
        (lead == 0xF0 && at(i + 1) < 0x90) || (lead == 0xF4 && at(i + 1) > 0x8F)) {
      return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() && IsIdentifierStart(text[0]) &&
         std::all_of(text.begin(), text.end(), IsIdentifierChar);
}

}  // namespace cudaagent::candidate
