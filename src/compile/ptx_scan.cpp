#include "compile/ptx_scan.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "compile/device_state.h"
#include "compile/ptx_text.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

std::string NameAt(std::string_view text) {
  text = util::Trim(text);
  return std::string(
      text.substr(0, std::find_if_not(text.begin(), text.end(), IsPtxWordPart) - text.begin()));
}

void AddOnce(std::string_view word, std::vector<std::string>* words) {
  if (std::find(words->begin(), words->end(), word) == words->end()) words->emplace_back(word);
}

// Whether `word` stands in `line` on its own: "%clock" is not found in "%clock64".
bool HasWord(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !IsPtxWordPart(line[at - 1]);
    if (starts && (end == line.size() || !IsPtxWordPart(line[end]))) return true;
  }
  return false;
}

void ScanInstruction(std::string_view line, PtxSymbols* symbols) {
  for (std::string_view sensor :
       {"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi",
        "%gridid", "%current_graph_exec"}) {
    if (HasWord(line, sensor)) AddOnce(sensor, &symbols->forbidden);
  }
  // Performance counters: %pm0 to %pm7, %pm0_64 to %pm7_64.
  for (size_t at = line.find("%pm"); at != std::string_view::npos; at = line.find("%pm", at + 1)) {
    AddOnce(NameAt(line.substr(at)), &symbols->forbidden);
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
  // The policy may be a number that no createpolicy made.
  if (line.find("L2::cache_hint") != std::string_view::npos) {
    AddOnce("L2::cache_hint", &symbols->flags);
  }
}

void MeasureMemory(std::string_view ptx, PtxSymbols* symbols) {
  PtxStatements statements(ptx);
  std::string_view statement;
  for (int depth = 0; statements.Next(&statement, &depth);) {
    if (statement.find('.') == std::string_view::npos) continue;
    const auto variable = DeclaredVariable(PtxWords(statement));
    if (!variable) continue;
    if (variable->space == ".global" &&
        __builtin_add_overflow(symbols->global_bytes, variable->bytes, &symbols->global_bytes)) {
      symbols->global_bytes = std::numeric_limits<int64_t>::max();
    }
    int64_t& largest = variable->space == ".shared" ? symbols->shared_bytes : symbols->local_bytes;
    if (variable->space == ".shared" || variable->space == ".local") {
      largest = std::max(largest, variable->bytes);
    }
  }
}

}  // namespace

PtxSymbols ScanPtx(std::string_view text) {
  const std::string plain = PlainPtx(text);
  const std::string_view ptx = plain;
  PtxSymbols symbols;
  symbols.device_state = FindDeviceState(ptx);
  MeasureMemory(ptx, &symbols);
  size_t from = 0;
  while (from < ptx.size()) {
    size_t end = ptx.find('\n', from);
    if (end == std::string_view::npos) end = ptx.size();
    const std::string_view line = util::Trim(ptx.substr(from, end - from));
    const size_t next = end + 1;
    ScanInstruction(line, &symbols);
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
