#include "device/ptx/text_reader.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace cudaagent::device::ptx {
namespace {

constexpr uint64_t kMaxVariableBytes = 1u << 30;
constexpr int kMaxNesting = 64;

}  // namespace

void TextReader::Error(const std::string& what) const {
  std::string near = peek().kind == Token::Kind::kEnd
                         ? "the end of the text"
                         : "'" + std::string(peek().text.substr(0, 40)) + "'";
  throw PtxError("PTX line " + std::to_string(peek().line) + ": " + what + " at " + near);
}
void TextReader::Expect(char c) {
  if (!peek().Is(c)) Error(std::string("expected '") + c + "'");
  Next();
}

bool TextReader::Accept(char c) {
  if (!peek().Is(c)) return false;
  Next();
  return true;
}

std::string TextReader::Word() {
  if (peek().kind != Token::Kind::kWord) Error("expected a name");
  return std::string(Next().text);
}

void TextReader::SkipStatement() {
  while (!AtEnd() && !Accept(';')) Next();
}

Space SpaceOf(std::string_view word) {
  static const std::array<std::pair<std::string_view, Space>, 5> kSpaces = {
      {{".global", Space::kGlobal},
       {".const", Space::kConst},
       {".shared", Space::kShared},
       {".local", Space::kLocal},
       {".param", Space::kParam}}};
  for (const auto& [name, space] : kSpaces) {
    if (word == name) return space;
  }
  return Space::kNone;
}

Variable TextReader::ReadVariable() {
  Variable variable;
  uint32_t line = peek().line;
  std::string space_word = Word();
  variable.space = SpaceOf(space_word);
  if (variable.space == Space::kNone) Error("the directive " + space_word + " is not known");
  int type = -2, lanes = 1;
  uint64_t align = 0;
  while (peek().kind == Token::Kind::kWord && peek().text[0] == '.') {
    std::string word = Word();
    if (word == ".align") {
      align = Integer();
      if (align == 0 || align > 4096 || (align & (align - 1)) != 0) Error("a bad alignment");
    } else if (word == ".v2" || word == ".v4") {
      lanes = word[2] - '0';
    } else if (word == ".ptr" || word == ".unified" || word == ".managed" ||
               SpaceOf(word) != Space::kNone) {
      // what a pointer parameter points to: a hint
    } else {
      type = TypeBytes(word.substr(1));
      if (type <= 0) Error("a variable of type " + word);
    }
  }
  if (type <= 0) Error("expected a type");
  variable.name = Word();
  uint64_t count = 1;
  while (Accept('[')) {
    if (Accept(']')) {
      variable.unsized = true;
      continue;
    }
    uint64_t n = Integer();
    Expect(']');
    if (n != 0 && count > kMaxVariableBytes / n) Error("a variable larger than 1 GiB");
    count *= n;
  }
  variable.bytes = count * static_cast<uint64_t>(type) * lanes;
  if (variable.bytes > kMaxVariableBytes) Error("a variable larger than 1 GiB");
  variable.align = align != 0 ? align : static_cast<uint64_t>(type) * lanes;
  if (variable.unsized) variable.bytes = 0;
  if (Accept('=')) {
    Initialiser(variable, type, 0);
    if (variable.unsized) {
      variable.unsized = false;
      variable.bytes = variable.initial.size();
    }
    if (variable.initial.size() > variable.bytes) {
      throw PtxError("PTX line " + std::to_string(line) + ": too many initialisers");
    }
  }
  return variable;
}

void TextReader::Initialiser(Variable& variable, int width, int depth) {
  if (depth > kMaxNesting) Error("initialisers nested too deeply");
  if (Accept('{')) {
    while (!peek().Is('}')) {
      Initialiser(variable, width, depth + 1);
      if (!Accept(',')) break;
    }
    Expect('}');
    return;
  }
  if (variable.initial.size() > kMaxVariableBytes) Error("too many initialisers");
  uint64_t at = variable.initial.size();
  variable.initial.resize(at + width);
  if (peek().kind == Token::Kind::kWord) {
    Variable::Address address{at, static_cast<uint32_t>(width), Word(), 0, false};
    if (address.symbol == "generic" || address.symbol == "mask") {
      if (address.symbol == "mask") throw PtxError("the initialiser mask() is not supported");
      address.generic = true;
      Expect('(');
      address.symbol = Word();
      if (Accept('+')) address.offset = static_cast<int64_t>(Integer());
      Expect(')');
    }
    if (Accept('+')) address.offset = static_cast<int64_t>(Integer());
    variable.addresses.push_back(std::move(address));
    return;
  }
  Operand literal = Literal();
  uint64_t bits = literal.bits;
  if (literal.kind == Operand::Kind::kFloat64 && width == 4) {
    double value;
    std::memcpy(&value, &bits, 8);
    float narrow = static_cast<float>(value);
    uint32_t word;
    std::memcpy(&word, &narrow, 4);
    bits = word;
  }
  std::memcpy(variable.initial.data() + at, &bits, std::min(width, 8));
}

uint64_t TextReader::Integer() {
  Operand literal = Literal();
  if (literal.kind != Operand::Kind::kInteger) Error("expected an integer");
  return literal.bits;
}

Operand TextReader::Literal() {
  bool negative = false;
  while (peek().Is('-') || peek().Is('+')) negative ^= Next().Is('-');
  bool inverted = Accept('~');
  if (peek().kind != Token::Kind::kNumber) Error("expected a number");
  std::string text(peek().text);
  Operand literal;
  auto parse = [&](std::string_view digits, int base) {
    if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.remove_suffix(1);
    auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), literal.bits, base);
    if (code != std::errc() || end != digits.data() + digits.size()) Error("a bad number");
  };
  std::string_view view = text;
  char second = text.size() > 1 ? text[1] : ' ';
  literal.kind = Operand::Kind::kInteger;
  if (text[0] == '0' && (second == 'f' || second == 'F')) {
    if (text.size() != 10) Error("a bad number");
    literal.kind = Operand::Kind::kFloat32;
    parse(view.substr(2), 16);
    if (negative) literal.bits ^= 0x80000000u;
  } else if (text[0] == '0' && (second == 'd' || second == 'D')) {
    if (text.size() != 18) Error("a bad number");
    literal.kind = Operand::Kind::kFloat64;
    parse(view.substr(2), 16);
    if (negative) literal.bits ^= uint64_t{1} << 63;
  } else if (text[0] == '0' && (second == 'x' || second == 'X')) {
    parse(view.substr(2), 16);
  } else if (text[0] == '0' && (second == 'b' || second == 'B')) {
    parse(view.substr(2), 2);
  } else if (text.find_first_of(".eE") != std::string::npos) {
    char* end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (*end != '\0') Error("a bad number");
    if (negative) value = -value;
    literal.kind = Operand::Kind::kFloat64;
    std::memcpy(&literal.bits, &value, 8);
  } else {
    parse(view, text[0] == '0' && text.size() > 1 && text != "0U" ? 8 : 10);
  }
  if (literal.kind == Operand::Kind::kInteger) {
    if (inverted) literal.bits = ~literal.bits;
    if (negative) literal.bits = 0 - literal.bits;
  }
  Next();
  return literal;
}

int TypeBytes(std::string_view type) {
  static const std::array<std::pair<std::string_view, int>, 24> kTypes = {
      {{"pred", 0}, {"b8", 1},    {"u8", 1},     {"s8", 1},     {"b16", 2},    {"u16", 2},
       {"s16", 2},  {"f16", 2},   {"bf16", 2},   {"b32", 4},    {"u32", 4},    {"s32", 4},
       {"f32", 4},  {"f16x2", 4}, {"bf16x2", 4}, {"tf32", 4},   {"b64", 8},    {"u64", 8},
       {"s64", 8},  {"f64", 8},   {"b128", 16},  {"e4m3x2", 2}, {"e5m2x2", 2}, {"f32x2", 8}}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return -1;
}

}  // namespace cudaagent::device::ptx
