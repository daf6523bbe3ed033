#include "compile/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "util/text.h"

namespace cudaagent::compile {
namespace {

// ".u32" -> 4, ".f16x2" -> 4; 0 where it is no type of memory.
int64_t BytesOfType(std::string_view type) {
  if (type.size() < 3 || type.front() != '.' || type.find_first_of("0123456789") == type.npos) {
    return 0;
  }
  if (util::EndsWith(type, "x2")) return 4;
  int bits = 0;
  const size_t digits = type.find_first_of("0123456789");
  std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  return bits % 8 == 0 ? bits / 8 : 0;
}

// Beyond int64_t: its largest value.
int64_t Product(int64_t a, int64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? std::numeric_limits<int64_t>::max() : a;
}

int64_t Number(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc::result_out_of_range ? std::numeric_limits<int64_t>::max() : value;
}

}  // namespace

std::string PlainPtx(std::string_view ptx) {
  std::string plain;
  plain.reserve(ptx.size());
  for (size_t i = 0; i < ptx.size();) {
    const std::string_view two = ptx.substr(i, 2);
    size_t end = i + 1;
    if (two == "//") {
      end = ptx.find('\n', i);
      plain += ' ';
    } else if (two == "/*") {
      end = ptx.find("*/", i + 2);
      if (end != std::string_view::npos) end += 2;
      plain += ' ';
    } else if (ptx[i] == '"') {
      // A string ends with its line at the latest: what follows must not hide in one left open.
      while (end < ptx.size() && ptx[end] != '"' && ptx[end] != '\n') ++end;
      if (end < ptx.size() && ptx[end] == '"') ++end;
      plain += "\"\"";
    } else {
      plain += ptx[i];
    }
    i = end == std::string_view::npos ? ptx.size() : end;
  }
  return plain;
}

bool IsPtxWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

bool IsPtxName(std::string_view word) {
  return IsPtxWordPart(word.front()) && std::isdigit(static_cast<unsigned char>(word.front())) == 0;
}

PtxWordList PtxWords(std::string_view statement) {
  PtxWordList words;
  for (size_t i = 0; i < statement.size();) {
    if (std::isspace(static_cast<unsigned char>(statement[i])) != 0) {
      ++i;
      continue;
    }
    size_t end = i;
    // "::" is part of an opcode's modifier ("shared::cta").
    while (end < statement.size() && (IsPtxWordPart(statement[end]) || statement[end] == '.' ||
                                      statement.substr(end, 2) == "::" ||
                                      (end > i && statement.substr(end - 1, 2) == "::"))) {
      ++end;
    }
    if (end == i) ++end;
    words.push_back(statement.substr(i, end - i));
    i = end;
  }
  return words;
}

std::optional<PtxVariable> DeclaredVariable(const PtxWordList& words) {
  const auto is_space = [](std::string_view word) {
    return word == ".global" || word == ".shared" || word == ".local" || word == ".const";
  };
  size_t i = 0;
  // Other directives may come first; "st .global" is an instruction.
  while (i < words.size() && words[i] != ".param" &&
         !(is_space(words[i]) && (i == 0 || !IsPtxName(words[i - 1])))) {
    ++i;
  }
  if (i == words.size() || !is_space(words[i])) return std::nullopt;
  PtxVariable variable;
  variable.space = words[i];
  int64_t vector = 1;
  for (++i; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == ".v2" || word == ".v4") {
      vector = word[2] - '0';
    } else if (word.front() == '.') {
      if (const int64_t bytes = BytesOfType(word); bytes > 0) variable.bytes = bytes * vector;
    } else if (word == "[") {
      return std::nullopt;
    } else if (IsPtxName(word) && words[i - 1] != "(") {
      break;  // neither the number of an alignment nor an attribute
    }
  }
  if (i == words.size() || words[i].front() == '%') return std::nullopt;
  variable.name = words[i];
  for (++i; i + 2 < words.size() && words[i] == "[" && words[i + 2] == "]"; i += 3) {
    variable.bytes = Product(variable.bytes, Number(words[i + 1]));
  }
  return variable;
}

bool PtxStatements::Next(std::string_view* statement, int* depth) {
  if (at_ >= ptx_.size()) return false;
  const size_t from = at_;
  *depth = depth_;
  bool initialiser = false;
  for (; at_ < ptx_.size(); ++at_) {
    const char c = ptx_[at_];
    if (c == '=' && depth_ == 0) initialiser = true;
    if (c == ';' || (!initialiser && (c == '{' ? !IsVector(at_) : c == '}' && !in_vector_))) break;
    if (c == '{') in_vector_ = !initialiser;
    if (c == '}') in_vector_ = false;
  }
  *statement = ptx_.substr(from, at_ - from);
  const char end = at_ < ptx_.size() ? ptx_[at_++] : ';';
  if (end == '{') ++depth_;
  if (end == '}') depth_ = std::max(depth_ - 1, 0);
  return true;
}

// Vectors hold words only, a block's statements end with ';'.
bool PtxStatements::IsVector(size_t open) const {
  const size_t close = ptx_.find_first_of(";{}", open + 1);
  return close != std::string_view::npos && ptx_[close] == '}' &&
         !util::Trim(ptx_.substr(open + 1, close - open - 1)).empty();
}

}  // namespace cudaagent::compile
