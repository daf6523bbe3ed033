#include "compile/timer_origin.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <string>
#include <vector>

#include "util/text.h"

namespace cudaagent::compile {
namespace {

std::string_view Unquoted(std::string_view text) {
  const size_t open = text.find('"');
  const size_t close = text.rfind('"');
  return open < close ? text.substr(open + 1, close - open - 1) : std::string_view{};
}

// The number at the start of `text`, past spaces; -1 without one.
int Number(std::string_view text) {
  text = util::Trim(text);
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Files of the line table: of a place, and of the call that was inlined there (-1: none).
struct Place {
  int file = -1, caller = -1;
};

// ".loc 5 41 3, function_name $L__info_string6, inlined_at 4 65 5"
Place PlaceOf(std::string_view line) {
  Place place{Number(line.substr(4)), -1};
  constexpr std::string_view kInlined = "inlined_at";
  if (const size_t at = line.find(kInlined); at != std::string_view::npos) {
    place.caller = Number(line.substr(at + kInlined.size()));
  }
  return place;
}

}  // namespace

bool TimerOnlyInHeaders(std::string_view ptx) {
  Place here;
  std::vector<Place> timers;
  std::set<int> headers;
  bool inline_assembly = false;
  for (std::string_view rest = ptx; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = util::Trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (util::StartsWith(line, "// begin inline asm")) inline_assembly = true;
    if (util::StartsWith(line, "// end inline asm")) inline_assembly = false;
    if (line.find("%globaltimer") != std::string_view::npos) timers.push_back(here);
    if (util::StartsWith(line, ".loc")) {
      here = PlaceOf(line);
    } else if (util::StartsWith(line, ".file")) {
      // Headers are known by their whole path; the candidate's file has none.
      if (util::StartsWith(Unquoted(line), "/")) headers.insert(Number(line.substr(5)));
    } else {
      continue;
    }
    if (inline_assembly) return false;
  }
  return std::all_of(timers.begin(), timers.end(), [&headers](const Place& timer) {
    return headers.contains(timer.file) && headers.contains(timer.caller);
  });
}

bool RenamesLines(std::string_view source) {
  std::string spliced(source);
  for (const std::string_view splice : {"\\\r\n", "\\\n"}) {
    for (size_t at = spliced.find(splice); at != std::string::npos; at = spliced.find(splice, at)) {
      spliced.erase(at, splice.size());
    }
  }
  for (std::string_view rest = spliced; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = util::Trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // A comment may stand before the "#", which may be spelt "%:".
    if (const size_t comment = line.rfind("*/"); comment != std::string_view::npos) {
      const std::string_view after = util::Trim(line.substr(comment + 2));
      if (util::StartsWith(after, "#") || util::StartsWith(after, "%:")) line = after;
    }
    const bool digraph = util::StartsWith(line, "%:");
    if (!digraph && !util::StartsWith(line, "#")) continue;
    line = util::Trim(line.substr(digraph ? 2 : 1));
    if (util::StartsWith(line, "line") || util::StartsWith(line, "/*") ||
        (!line.empty() && std::isdigit(static_cast<unsigned char>(line.front())))) {
      return true;
    }
  }
  return false;
}

}  // namespace cudaagent::compile
