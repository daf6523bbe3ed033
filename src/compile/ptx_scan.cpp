#include "compile/ptx_scan.h"

#include <algorithm>
#include <cctype>

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

}  // namespace

PtxSymbols ScanPtx(std::string_view ptx) {
  PtxSymbols symbols;
  size_t from = 0;
  while (from < ptx.size()) {
    size_t end = ptx.find('\n', from);
    if (end == std::string_view::npos) end = ptx.size();
    const std::string_view line = util::Trim(ptx.substr(from, end - from));
    const size_t next = end + 1;
    if (line.empty() || line.front() != '.') {
      ScanInstruction(line, &symbols);
      from = next;
      continue;
    }
    if (const size_t at = line.find(".entry "); at != std::string_view::npos) {
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
  return symbols;
}

}  // namespace cudaagent::compile
