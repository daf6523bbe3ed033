#include "compile/ptx_scan.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "util/text.h"

namespace cudaagent::compile {
namespace {

// PTX identifiers may hold '$'.
std::string NameAt(std::string_view text) {
  text = util::Trim(text);
  size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                               text[end] == '_' || text[end] == '$' || text[end] == '%')) {
    ++end;
  }
  return std::string(text.substr(0, end));
}

void AddOnce(std::string_view word, std::vector<std::string>* words) {
  if (std::find(words->begin(), words->end(), word) == words->end()) words->emplace_back(word);
}

bool IsWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

// Whether `word` stands in `line` on its own: "%clock" is not found in "%clock64".
bool HasWord(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !IsWordPart(line[at - 1]);
    if (starts && (end == line.size() || !IsWordPart(line[end]))) return true;
  }
  return false;
}

void ScanInstruction(std::string_view line, PtxSymbols* symbols) {
  line = line.substr(0, line.find("//"));
  for (std::string_view timer : {"%clock", "%clock_hi", "%clock64", "%globaltimer",
                                 "%globaltimer_lo", "%globaltimer_hi"}) {
    if (HasWord(line, timer)) AddOnce(timer, &symbols->forbidden);
  }
  if (HasWord(line, "discard")) AddOnce("discard", &symbols->forbidden);
  if (HasWord(line, "createpolicy")) {
    const bool keeps = line.find("evict_last") != std::string_view::npos ||
                       line.find("evict_unchanged") != std::string_view::npos;
    AddOnce(keeps ? "createpolicy evict_last" : "createpolicy",
            keeps ? &symbols->forbidden : &symbols->flags);
  } else if (line.find("L2::evict_last") != std::string_view::npos) {
    AddOnce("L2::evict_last", &symbols->forbidden);
  }
  for (std::string_view word : {"prefetch", "prefetchu", "applypriority", "griddepcontrol"}) {
    if (HasWord(line, word)) AddOnce(word, &symbols->flags);
  }
}

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

PtxSymbols ScanPtx(std::string_view ptx) {
  PtxSymbols symbols;
  Place here;
  std::vector<Place> timers;
  std::set<int> headers;
  size_t from = 0;
  while (from < ptx.size()) {
    size_t end = ptx.find('\n', from);
    if (end == std::string_view::npos) end = ptx.size();
    const std::string_view line = util::Trim(ptx.substr(from, end - from));
    const size_t next = end + 1;
    if (line.empty() || line.front() != '.') {
      ScanInstruction(line, &symbols);
      if (line.find("%globaltimer") != std::string_view::npos) timers.push_back(here);
      from = next;
      continue;
    }
    if (util::StartsWith(line, ".loc")) {
      here = PlaceOf(line);
    } else if (util::StartsWith(line, ".file")) {
      // Headers are known by their whole path; the candidate's file has none.
      if (util::StartsWith(Unquoted(line), "/")) headers.insert(Number(line.substr(5)));
    } else if (const size_t at = line.find(".entry "); at != std::string_view::npos) {
      symbols.entries.push_back(NameAt(line.substr(at + 7)));
    } else if (util::StartsWith(line, ".extern .func")) {
      // ".extern .func  (.param .b64 func_retval0) malloc" or ".extern .func name"; the name may
      // stand on the next line.
      size_t at = from + ptx.substr(from).find(".func") + 5;
      while (at < ptx.size() && std::isspace(static_cast<unsigned char>(ptx[at]))) ++at;
      if (at < ptx.size() && ptx[at] == '(') {
        at = ptx.find(')', at);
        at = at == std::string_view::npos ? ptx.size() : at + 1;
      }
      symbols.extern_functions.push_back(NameAt(ptx.substr(at, 1024)));
    }
    from = next;
  }
  symbols.timer_only_in_headers =
      std::all_of(timers.begin(), timers.end(), [&headers](const Place& timer) {
        return headers.contains(timer.file) && headers.contains(timer.caller);
      });
  return symbols;
}

}  // namespace cudaagent::compile
