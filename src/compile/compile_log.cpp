#include "compile/compile_log.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "compile/embedded_headers.h"
#include "compile/kernel_names.h"
#include "compile/nvrtc_compiler.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

// Where NVRTC says an error about a name expression is, and how it quotes the expression.
constexpr std::string_view kNameMap = "__nv_name_map";
constexpr std::string_view kNamePragma = "#pragma nv_mangled_name ";

constexpr size_t kMaxSentenceBytes = 400;

// "path(12): error: text", as every diagnostic of NVRTC's front end begins.
struct Head {
  std::string_view path, line, text;
  bool is_error = false, is_note = false;
};

std::optional<Head> ParseHead(std::string_view line) {
  if (line.empty() || line.front() == ' ') return std::nullopt;
  for (const std::string_view kind : {"): error", "): catastrophic error", "): internal error",
                                      "): warning", "): remark", "): note"}) {
    const size_t close = line.find(kind);
    if (close == std::string_view::npos) continue;
    size_t open = close;
    while (open > 0 && std::isdigit(static_cast<unsigned char>(line[open - 1]))) --open;
    if (open == close || open == 0 || line[open - 1] != '(') continue;
    const size_t colon = line.find(": ", close + 2);
    Head head;
    head.path = line.substr(0, open - 1);
    head.line = line.substr(open, close - open);
    head.text = colon == std::string_view::npos ? line.substr(close + 3) : line.substr(colon + 2);
    head.is_error = kind.find("error") != std::string_view::npos;
    head.is_note = kind == "): note";
    return head;
  }
  return std::nullopt;
}

bool MayBeQuoted(std::string_view path, const std::vector<std::string>& include_dirs) {
  if (path == kSourceName || path == "kernel.cu" || path == "/cudaagent/first.h") return true;
  for (const EmbeddedHeader& header : EmbeddedHeaders()) {
    if (path == header.name) return true;
  }
  if (path.find("/../") != std::string_view::npos) return false;
  return std::any_of(include_dirs.begin(), include_dirs.end(),
                     [&](const std::string& dir) { return util::StartsWith(path, dir + "/"); });
}

// A line without a place: "ptxas fatal : ...", "2 errors detected in the compilation of ...".
bool IsPtxasError(std::string_view line) {
  return util::StartsWith(line, "ptxas") && (line.find("error") != std::string_view::npos ||
                                             line.find("fatal") != std::string_view::npos);
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  std::string out;
  size_t from = 0;
  for (size_t at; (at = text.find(what, from)) != std::string::npos; from = at + what.size()) {
    out.append(text, from, at - from);
    out.append(with);
  }
  if (from == 0) return;
  out.append(text, from);
  text = std::move(out);
}

// "ptxas fatal   : Unresolved extern function '_Z3fooi'" -> "Unresolved extern function
// 'foo(int)'".
std::string PtxasSentence(std::string_view line) {
  const size_t colon = line.find(" : ");
  std::string text(util::Trim(colon == std::string_view::npos ? line : line.substr(colon + 3)));
  const size_t open = text.find('\'');
  const size_t close = open == std::string::npos ? open : text.find('\'', open + 1);
  if (close == std::string::npos) return text;
  const std::string name = text.substr(open + 1, close - open - 1);
  return text.substr(0, open + 1) + Signature(name) + text.substr(close);
}

struct Block {
  std::string text;
  bool is_error = false;
};

}  // namespace

CompileLog ReadLog(std::string_view raw, const std::vector<std::string>& include_dirs) {
  CompileLog log;
  std::vector<Block> blocks;
  std::string name_reason;
  bool keep = false;  // whether lines that follow a head belong to something kept
  for (const std::string& line : util::Split(raw, '\n')) {
    if (util::Trim(line).empty()) {
      keep = false;
      continue;
    }
    if (const auto head = ParseHead(line)) {
      if (head->path == kNameMap) {
        keep = false;
        name_reason = head->is_error ? std::string(head->text) : "";
        continue;
      }
      keep = MayBeQuoted(head->path, include_dirs);
      if (!keep) {
        log.errors += head->is_error ? 1 : 0;
        continue;
      }
      if (head->is_note && !blocks.empty()) {
        blocks.back().text += line + "\n";  // it explains the one before
      } else {
        blocks.push_back({line + "\n", head->is_error});
      }
      if (head->is_error && ++log.errors == 1) {
        log.first_error = std::string(head->path) + "(" + std::string(head->line) +
                          "): " + std::string(head->text);
      }
    } else if (line.front() == ' ' || line.front() == '\t') {
      if (keep) blocks.back().text += line + "\n";  // quoted source, carets, "detected during"
      const std::string_view quoted = util::Trim(line);
      if (!name_reason.empty() && util::StartsWith(quoted, kNamePragma)) {
        const std::string name(quoted.substr(kNamePragma.size()));
        // Further errors about the same name only echo the first.
        if (log.name_errors.empty() || log.name_errors.back().expression != name) {
          log.name_errors.push_back({name, util::SanitiseLog(name_reason, 1024)});
        }
        name_reason.clear();
      }
    } else if (util::StartsWith(line, "Remark: The warnings can be suppressed")) {
      keep = false;
    } else {
      const bool ptxas_error = IsPtxasError(line);
      keep = false;
      blocks.push_back({line + "\n", ptxas_error});
      if (ptxas_error && ++log.errors == 1) log.first_error = PtxasSentence(line);
    }
  }
  std::stable_partition(blocks.begin(), blocks.end(), [](const Block& b) { return b.is_error; });
  for (const Block& block : blocks) {
    if (log.text.size() > 2 * kMaxLogBytes) break;
    log.text += block.text;
  }
  for (std::string* text : {&log.text, &log.first_error}) {
    for (const std::string& dir : include_dirs) ReplaceAll(*text, dir + "/", "");
    ReplaceAll(*text, kSourceDir, "");
    ReplaceAll(*text, "/cudaagent/", "cudaagent/");
    // Absent and forbidden look the same: a candidate learns nothing about the machine's files.
    ReplaceAll(*text, "\": Permission denied", "\"");
    *text = util::SanitiseLog(*text, text->size() + 1);
  }
  if (log.first_error.size() > kMaxSentenceBytes) {
    log.first_error = util::SanitiseUtf8(log.first_error.substr(0, kMaxSentenceBytes)) + "...";
  }
  if (log.text.size() > kMaxLogBytes) {
    constexpr std::string_view kCut = "\n... (the log goes on)\n";
    size_t end = log.text.rfind('\n', kMaxLogBytes - kCut.size());
    if (end == std::string::npos) end = kMaxLogBytes - kCut.size();
    log.text = util::SanitiseUtf8(log.text.substr(0, end)) + std::string(kCut);
  }
  return log;
}

}  // namespace cudaagent::compile
