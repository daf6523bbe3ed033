#include "compile/ptx_scan.h"

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
