// Tokens, literals and variable declarations: what module and function level share.
#pragma once

#include <string>
#include <string_view>

#include "device/ptx/lexer.h"
#include "device/ptx/text.h"

namespace cudaagent::device::ptx {

// Every function throws PtxError, with the text's line, where the text is not what it expects.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : lexer_(text) {}

  const Token& peek() const { return lexer_.peek(); }
  bool AtEnd() const { return peek().kind == Token::Kind::kEnd; }
  // A word that begins with a dot.
  bool AtDirective() const { return peek().kind == Token::Kind::kWord && peek().text[0] == '.'; }
  Token Next() { return lexer_.Next(); }
  std::string_view RestOfLine() { return lexer_.RestOfLine(); }

  [[noreturn]] void Error(const std::string& what) const;
  void Expect(char c);
  bool Accept(char c);
  std::string Word();
  uint64_t Integer();
  Operand Literal();
  // Up to and with the next ';'.
  void SkipStatement();

  // [space] [.align n] .type name [dims] [= initialiser]; the caller takes the ';' or ','.
  Variable ReadVariable();

 private:
  void Initialiser(Variable& variable, int width, int depth);

  Lexer lexer_;
};

// ".shared" -> kShared; kNone where the word is no space.
Space SpaceOf(std::string_view directive);

}  // namespace cudaagent::device::ptx
