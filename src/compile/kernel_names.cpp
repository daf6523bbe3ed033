#include "compile/kernel_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "candidate/skip.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

using candidate::SkipParentheses;
using candidate::SkipSpace;

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Comments, string and character literals and preprocessor lines become spaces.
std::string Blank(std::string_view source) {
  std::string out(source);
  const auto wipe = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, out.size()); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  bool line_start = true;
  for (size_t i = 0; i < source.size();) {
    size_t end = i + 1;
    const char c = source[i];
    if (source.substr(i, 2) == "//" || (c == '#' && line_start)) {
      end = source.find('\n', i);
      while (end != std::string_view::npos && end > i && source[end - 1] == '\\') {
        end = source.find('\n', end + 1);
      }
      if (end == std::string_view::npos) end = source.size();
      wipe(i, end);
    } else if (source.substr(i, 2) == "/*") {
      end = source.find("*/", i + 2);
      end = end == std::string_view::npos ? source.size() : end + 2;
      wipe(i, end);
    } else if (c == '"' || c == '\'') {
      // A digit separator (1'000) is no literal.
      if (c == '\'' && i > 0 && IsWord(source[i - 1])) {
        i = end;
        continue;
      }
      while (end < source.size() && source[end] != c && source[end] != '\n') {
        end += source[end] == '\\' ? 2 : 1;
      }
      end = std::min(end + 1, source.size());
      wipe(i, end);
    }
    if (c == '\n') {
      line_start = true;
    } else if (c != ' ' && c != '\t') {
      line_start = false;
    }
    i = end;
  }
  return out;
}

}  // namespace

std::string Signature(std::string_view mangled) {
  int status = 0;
  const std::string name(mangled);
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  // A one-letter C name ("f") demangles to a type's name.
  if (status != 0 || text == nullptr || !util::StartsWith(name, "_Z")) return name;
  std::string signature = text.get();
  if (util::StartsWith(signature, "void ")) signature.erase(0, 5);
  return signature;
}

std::vector<std::string> GlobalFunctions(std::string_view source) {
  static constexpr std::string_view kGlobal = "__global__";
  const std::string text = Blank(source);
  std::vector<std::string> names;
  for (size_t at = text.find(kGlobal); at != std::string::npos; at = text.find(kGlobal, at)) {
    const bool whole = (at == 0 || !IsWord(text[at - 1])) &&
                       (at + kGlobal.size() >= text.size() || !IsWord(text[at + kGlobal.size()]));
    at += kGlobal.size();
    if (!whole) continue;
    // Words up to the parameter list; attributes with parentheses are stepped over.
    std::string last;
    while (at < text.size()) {
      at = SkipSpace(text, at);
      if (at >= text.size()) break;
      if (IsWord(text[at])) {
        const size_t from = at;
        while (at < text.size() && IsWord(text[at])) ++at;
        last = text.substr(from, at - from);
      } else if (text[at] == '(') {
        if (last == "__launch_bounds__" || last == "__attribute__" || last == "__cluster_dims__" ||
            last == "__maxnreg__" || last == "__block_size__" || last == "alignas") {
          at = SkipParentheses(text, at);
          last.clear();
          continue;
        }
        if (!last.empty() && std::find(names.begin(), names.end(), last) == names.end()) {
          names.push_back(last);
        }
        break;
      } else if (text[at] == ';' || text[at] == '{' || text[at] == '}') {
        break;
      } else {
        ++at;
      }
    }
  }
  return names;
}

}  // namespace cudaagent::compile
