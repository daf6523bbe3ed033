#include "device/ptx/lexer.h"

namespace cudaagent::device::ptx {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

}  // namespace

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\0') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.substr(at_, 2) == "/*") {
      size_t end = text_.find("*/", at_ + 2);
      end = end == std::string_view::npos ? text_.size() : end + 2;
      for (; at_ < end; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

void Lexer::Advance() {
  SkipBlanks();
  token_at_ = at_;
  token_ = Token{Token::Kind::kEnd, {}, line_};
  if (at_ >= text_.size()) return;
  size_t start = at_;
  char c = text_[at_];
  if (IsDigit(c)) {
    token_.kind = Token::Kind::kNumber;
    bool hex = c == '0' && start + 1 < text_.size() &&
               std::string_view("xXfFdD").find(text_[start + 1]) != std::string_view::npos;
    while (at_ < text_.size()) {
      char d = text_[at_];
      bool exponent_sign = !hex && (d == '-' || d == '+') && at_ > start &&
                           (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!IsWordChar(d) && !exponent_sign) break;
      ++at_;
    }
  } else if (IsWordChar(c)) {
    token_.kind = Token::Kind::kWord;
    while (at_ < text_.size()) {
      if (IsWordChar(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "::" && at_ + 2 < text_.size() &&
                 IsWordChar(text_[at_ + 2])) {
        at_ += 2;
      } else {
        break;
      }
    }
  } else if (c == '"') {
    token_.kind = Token::Kind::kString;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
    if (at_ < text_.size() && text_[at_] == '"') ++at_;
  } else {
    token_.kind = Token::Kind::kPunctuation;
    ++at_;
  }
  token_.text = text_.substr(start, at_ - start);
}

std::string_view Lexer::RestOfLine() {
  size_t end = text_.find('\n', token_at_);
  if (end == std::string_view::npos) end = text_.size();
  std::string_view rest = text_.substr(token_at_, end - token_at_);
  // The current token lies on this line, so line_ is its line unless the text ended.
  at_ = end;
  line_ = token_.line;
  Advance();
  return rest;
}

}  // namespace cudaagent::device::ptx
