#include "candidate/spelling.h"

#include <algorithm>
#include <cstdio>

namespace cudaagent::candidate {
namespace {

// Levenshtein distance, or anything above `limit` where it exceeds it.
size_t Distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

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

std::string Nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > 200) return "";
  const size_t limit = std::max<size_t>(1, std::min<size_t>(3, name.size() / 3));
  size_t best = limit + 1;
  std::string nearest;
  for (const std::string& each : known) {
    size_t distance = Distance(name, each, limit);
    if (distance < best) {
      best = distance;
      nearest = each;
    }
  }
  return nearest;
}

std::string Suggest(std::string_view name, const std::vector<std::string>& known, size_t limit) {
  if (std::string nearest = Nearest(name, known); !nearest.empty()) {
    return "; did you mean " + Quote(nearest) + "?";
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
