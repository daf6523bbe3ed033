#include "util/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace cudaagent::util {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the valid UTF-8 sequence at `at` (RFC 3629: no overlong forms, surrogates or values
// above U+10FFFF), 0 where there is none.
size_t SequenceLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at);
  const unsigned second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(at + 1) || !tail(at + 2)) return 0;
    if (first == 0xE0 && second < 0xA0) return 0;
    if (first == 0xED && second > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(at + 1) || !tail(at + 2) || !tail(at + 3)) return 0;
    if (first == 0xF0 && second < 0x90) return 0;
    if (first == 0xF4 && second > 0x8F) return 0;
    return 4;
  }
  return 0;
}

// Index just past the ANSI escape sequence that starts at `at` (text[at] is ESC).
size_t SkipEscape(std::string_view text, size_t at) {
  size_t i = at + 1;
  if (i >= text.size()) return i;
  if (text[i] == '[') {  // CSI: parameters and intermediates, then one final byte
    for (++i; i < text.size(); ++i) {
      const unsigned char c = static_cast<unsigned char>(text[i]);
      if (c >= 0x40 && c <= 0x7E) return i + 1;
      if (c < 0x20 || c > 0x3F) return i;
    }
    return i;
  }
  if (text[i] == ']' || text[i] == 'P' || text[i] == '^' || text[i] == '_') {
    // String sequences end with BEL or ESC backslash; an unterminated one ends at the line's end.
    for (++i; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '\\') return i + 2;
      if (text[i] == '\n') return i;
    }
    return i;
  }
  const unsigned char c = static_cast<unsigned char>(text[i]);
  return c >= 0x20 && c < 0x7F ? i + 1 : i;
}

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

bool IsTail(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

// Three significant digits at most one decimal: "12.3", "850".
std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 99.95 ? "%.1f" : "%.0f", value);
  std::string shown = text;
  if (EndsWith(shown, ".0")) shown.resize(shown.size() - 2);
  return shown;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  size_t from = 0;
  while (true) {
    const size_t to = text.find(separator, from);
    pieces.emplace_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return pieces;
    from = to + 1;
  }
}

std::string Join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += separator;
    text += pieces[i];
  }
  return text;
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool NamesSecret(std::string_view name) {
  for (std::string_view word : {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}) {
    if (name.find(word) != name.npos) return true;
  }
  return false;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& known) {
  constexpr size_t kLongest = 200;  // edit distance is quadratic, and names may be hostile
  if (name.size() > kLongest) return std::nullopt;
  const std::string wanted = ToLower(name);
  std::optional<std::string> nearest;
  size_t nearest_distance = 0;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const size_t distance = EditDistance(wanted, ToLower(candidate));
    const size_t allowed = std::max<size_t>(1, std::max(wanted.size(), candidate.size()) / 3);
    if (distance > allowed || distance >= candidate.size()) continue;
    if (!nearest || distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = NearestName(name, known);
  return nearest ? " Did you mean \"" + *nearest + "\"?" : "";
}

std::string SanitiseUtf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length == 0) {
      clean += kReplacement;
      ++i;
    } else {
      clean += text.substr(i, length);
      i += length;
    }
  }
  return clean;
}

std::string SanitiseLog(std::string_view text, size_t max_bytes) {
  std::string clean;
  clean.reserve(std::min(text.size(), 4 * max_bytes));
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == 0x1B) {
      i = SkipEscape(text, i);
      continue;
    }
    const size_t length = SequenceLength(text, i);
    if (length == 0) {
      clean += kReplacement;
      ++i;
      continue;
    }
    // C0 and DEL, and C1 (U+0080 to U+009F), which some terminals obey.
    const bool control =
        (length == 1 && (c < 0x20 || c == 0x7F) && c != '\n' && c != '\t') ||
        (length == 2 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    if (!control) clean += text.substr(i, length);
    i += length;
  }
  if (clean.size() <= max_bytes) return clean;
  size_t head = max_bytes / 2;
  size_t tail = clean.size() - (max_bytes - head);
  while (head > 0 && IsTail(clean[head])) --head;
  while (tail < clean.size() && IsTail(clean[tail])) ++tail;
  return clean.substr(0, head) + "\n[... " + std::to_string(tail - head) +
         " bytes left out ...]\n" + clean.substr(tail);
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown time";
  if (seconds < 0) return "-" + FormatSeconds(-seconds);
  if (seconds < 0.9995e-3) return Short(seconds * 1e6) + " us";
  if (seconds < 0.9995) return Short(seconds * 1e3) + " ms";
  if (seconds < 60) return Short(seconds) + " s";
  const int64_t whole = static_cast<int64_t>(std::min(seconds, 1e15) + 0.5);
  const auto both = [](int64_t large, const char* large_unit, int64_t small,
                       const char* small_unit) {
    std::string text = std::to_string(large) + large_unit;
    if (small != 0) text += " " + std::to_string(small) + small_unit;
    return text;
  };
  if (whole < 3600) return both(whole / 60, " min", whole % 60, " s");
  return both(whole / 3600, " h", whole % 3600 / 60, " min");
}

std::string FormatBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::fabs(value) >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return (unit == 0 ? std::to_string(bytes) : Short(value)) + " " + kUnits[unit];
}

}  // namespace cudaagent::util
