// Splits PTX text into words and punctuation, without its comments.
#pragma once

#include <cstdint>
#include <string_view>

namespace cudaagent::device::ptx {

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kNumber, kString, kPunctuation };
  Kind kind = Kind::kEnd;
  std::string_view text;
  uint32_t line = 0;
  bool Is(char c) const { return kind == Kind::kPunctuation && text[0] == c; }
  bool Is(std::string_view word) const { return kind == Kind::kWord && text == word; }
};

// A word is an identifier with its dots ("setp.ne.s32", "%tid.x", ".reg",
// "ld.L1::no_allocate.u32").
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { Advance(); }
  const Token& peek() const { return token_; }
  Token Next() {
    Token token = token_;
    Advance();
    return token;
  }
  // The rest of the line the current token starts on, from that token on; then moves past it.
  std::string_view RestOfLine();

 private:
  void Advance();
  void SkipBlanks();

  std::string_view text_;
  size_t at_ = 0;
  size_t token_at_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace cudaagent::device::ptx
