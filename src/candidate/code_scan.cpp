#include "candidate/code_scan.h"

#include <algorithm>

#include "candidate/skip.h"
#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

constexpr size_t kEnd = std::string_view::npos;

size_t OrEnd(size_t at, std::string_view text) { return at == kEnd ? text.size() : at; }

// One past a // comment; a backslash before the newline continues it.
size_t LineCommentEnd(std::string_view code, size_t at) {
  while (at < code.size()) {
    size_t newline = OrEnd(code.find('\n', at), code);
    size_t last = newline;
    if (last > 0 && code[last - 1] == '\r') --last;
    if (newline == code.size() || last == 0 || code[last - 1] != '\\') return newline;
    at = newline + 1;
  }
  return code.size();
}

// One past the literal that starts with the quote at `at`; ends at the line's end if unclosed.
size_t QuotedEnd(std::string_view code, size_t at) {
  const char quote = code[at];
  for (++at; at < code.size() && code[at] != '\n'; ++at) {
    if (code[at] == '\\') {
      ++at;
    } else if (code[at] == quote) {
      return at + 1;
    }
  }
  return std::min(at, code.size());
}

// One past R"tag( ... )tag", whose quote is at `at`.
size_t RawStringEnd(std::string_view code, size_t at) {
  const size_t open = code.find('(', at);
  if (open == kEnd || open - at > 17) return QuotedEnd(code, at);
  const std::string close = ")" + std::string(code.substr(at + 1, open - at - 1)) + "\"";
  const size_t end = code.find(close, open);
  return end == kEnd ? code.size() : end + close.size();
}

// True where the line up to `at` is "#include" and blanks.
bool AfterInclude(std::string_view code, size_t at) {
  size_t start = code.rfind('\n', at == 0 ? 0 : at - 1);
  start = start == kEnd ? 0 : start + 1;
  std::string packed;
  for (char c : code.substr(start, at - start)) {
    if (!IsSpace(c)) packed += c;
  }
  return packed == "#include" || packed == "%:include";
}

void Blank(std::string* text, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if ((*text)[i] != '\n') (*text)[i] = ' ';
  }
}

template <typename Visit>
void ForEachIdentifier(std::string_view text, Visit visit) {
  for (size_t i = 0; i < text.size();) {
    if (!IsIdentifierChar(text[i])) {
      ++i;
      continue;
    }
    const size_t start = i;
    while (i < text.size() && IsIdentifierChar(text[i])) ++i;
    if (IsIdentifierStart(text[start])) visit(text.substr(start, i - start), start);
  }
}

tl::unexpected<Fault> Host(std::string_view code, size_t at, const std::string& what) {
  return Blame(Verdict::kBadCandidate, "line " + std::to_string(LineOf(code, at)) + ": " + what);
}

Checked<void> RefuseIncludes(std::string_view code) {
  for (size_t at = code.find('#'); at != kEnd; at = code.find('#', at + 1)) {
    size_t word = SkipSpace(code, at + 1);
    if (code.substr(word, 7) != "include") continue;
    std::string_view line = code.substr(word, OrEnd(code.find('\n', word), code) - word);
    for (const char* host : {"torch/", "ATen/", "c10/", "pybind11/", "Python.h"}) {
      if (line.find(host) != kEnd) {
        return Host(code, at,
                    "#include of " + std::string(host) +
                        "... is host code; the file holds device code only, and the "
                        "plan does what the host would");
      }
    }
  }
  return {};
}

}  // namespace

std::string BlankComments(std::string_view code) {
  std::string out(code);
  for (size_t i = 0; i < code.size();) {
    const char c = code[i];
    size_t end = i + 1;
    if (c == '/' && code.substr(i, 2) == "//") {
      end = LineCommentEnd(code, i);
      Blank(&out, i, end);
    } else if (c == '/' && code.substr(i, 2) == "/*") {
      const size_t close = code.find("*/", i + 2);
      end = close == kEnd ? code.size() : close + 2;
      Blank(&out, i, end);
    } else if (c == '"') {
      const bool raw = i > 0 && code[i - 1] == 'R' && (i < 2 || !IsIdentifierChar(code[i - 2]));
      end = raw ? RawStringEnd(code, i) : QuotedEnd(code, i);
      if (!AfterInclude(code, i)) Blank(&out, i, end);
    } else if (c == '\'' && (i == 0 || !IsIdentifierChar(code[i - 1]))) {  // not 1'000
      end = QuotedEnd(code, i);
      Blank(&out, i, end);
    }
    i = end;
  }
  return out;
}

std::set<std::string, std::less<>> Identifiers(std::string_view blanked) {
  std::set<std::string, std::less<>> names;
  ForEachIdentifier(blanked, [&](std::string_view name, size_t) { names.emplace(name); });
  return names;
}

std::vector<std::string> GlobalFunctions(std::string_view blanked) {
  std::vector<std::string> functions;
  for (size_t at = blanked.find("__global__"); at != kEnd; at = blanked.find("__global__", at)) {
    at += 10;
    // The kernel's name is the first identifier that "(" follows, attributes aside.
    for (size_t i = at; i < blanked.size() && blanked[i] != ';' && blanked[i] != '{';) {
      if (!IsIdentifierStart(blanked[i])) {
        ++i;
        continue;
      }
      const size_t start = i;
      while (i < blanked.size() && IsIdentifierChar(blanked[i])) ++i;
      const std::string_view name = blanked.substr(start, i - start);
      const size_t next = SkipSpace(blanked, i);
      if (next >= blanked.size() || blanked[next] != '(') continue;
      if (name.starts_with("__")) {  // __launch_bounds__(256), __cluster_dims__(2)
        i = SkipParentheses(blanked, next);
        continue;
      }
      functions.emplace_back(name);
      break;
    }
  }
  return functions;
}

Checked<void> RefuseHostCode(std::string_view code) {
  if (size_t at = code.find("<<<"); at != kEnd) {
    return Host(code, at,
                "a kernel is launched with <<<...>>>; the plan's kernel steps launch, so "
                "leave host code out");
  }
  if (auto includes = RefuseIncludes(code); !includes) return includes;
  static const std::vector<std::string_view> kHostNames = {
      "PYBIND11_MODULE", "TORCH_LIBRARY",   "TORCH_CHECK",      "cudaMalloc",
      "cudaFree",        "cudaMemcpy",      "cudaMemcpyAsync",  "cudaLaunchKernel",
      "cudaMemset",      "cudaMemsetAsync", "cudaStreamCreate", "cudaDeviceSynchronize"};
  Checked<void> result;
  std::string_view previous;
  ForEachIdentifier(code, [&](std::string_view name, size_t at) {
    const size_t next = SkipSpace(code, at + name.size());
    const bool call = next < code.size() && code[next] == '(';
    if (!result) return;
    if (name == "main" && call && (previous == "int" || previous == "void" || previous == "auto")) {
      result =
          Host(code, at, "main() is host code; the plan says what is launched, so leave it out");
    } else if (call && std::find(kHostNames.begin(), kHostNames.end(), name) != kHostNames.end()) {
      result = Host(code, at,
                    std::string(name) +
                        " is host code; buffers and launches belong in "
                        "the plan");
    } else if ((name == "torch" || name == "at") && code.substr(next, 2) == "::" &&
               code.substr(SkipSpace(code, next + 2), 6) == "Tensor") {
      result = Host(code, at,
                    std::string(name) +
                        "::Tensor is host code; kernels take pointers, "
                        "which the plan passes as \"$name\"");
    }
    previous = name;
  });
  return result;
}

}  // namespace cudaagent::candidate
