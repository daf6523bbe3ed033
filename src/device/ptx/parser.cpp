#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include "device/ptx/lexer.h"
#include "device/ptx/source_lines.h"
#include "device/ptx/text.h"

namespace cudaagent::device::ptx {
namespace {

constexpr uint64_t kMaxVariableBytes = 1u << 30;
constexpr size_t kMaxRegisters = 60'000;
constexpr size_t kMaxStatements = 2'000'000;
constexpr int kMaxNesting = 64;

struct Declaration {  // ".reg .b32 %r<112>" or ".reg .pred p"
  uint8_t bytes = 4;
  uint64_t count = 0;
};

struct Scope {
  int parent = -1;
  std::unordered_map<std::string, Declaration> ranges;
  std::unordered_map<std::string, int> registers;
  std::unordered_map<std::string, int> variables;
  std::unordered_map<std::string, uint32_t> labels;
  std::unordered_map<std::string, std::vector<std::string>> tables;  // .branchtargets
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  ModuleText Parse() {
    while (peek().kind != Token::Kind::kEnd) ModuleItem();
    return std::move(module_);
  }

 private:
  const Token& peek() const { return lexer_.peek(); }
  Token Next() { return lexer_.Next(); }

  [[noreturn]] void Error(const std::string& what) const {
    std::string near = peek().kind == Token::Kind::kEnd ? "the end of the text"
                                                        : "'" + std::string(peek().text.substr(0, 40)) + "'";
    throw PtxError("PTX line " + std::to_string(peek().line) + ": " + what + " at " + near);
  }
  void Expect(char c) {
    if (!peek().Is(c)) Error(std::string("expected '") + c + "'");
    Next();
  }
  bool Accept(char c) {
    if (!peek().Is(c)) return false;
    Next();
    return true;
  }
  std::string Word() {
    if (peek().kind != Token::Kind::kWord) Error("expected a name");
    return std::string(Next().text);
  }

  void ModuleItem() {
    Token token = peek();
    if (token.kind != Token::Kind::kWord) Error("expected a directive");
    std::string_view word = token.text;
    if (word == ".version" || word == ".address_size" || word == ".file" || word == ".loc") {
      std::string_view line = lexer_.RestOfLine();
      if (word == ".address_size" && line.find("64") == std::string_view::npos) {
        throw PtxError("PTX with 32-bit addresses is not supported");
      }
    } else if (word == ".target") {
      std::string_view line = lexer_.RestOfLine().substr(7);
      size_t start = line.find_first_not_of(" \t");
      if (start != std::string_view::npos) {
        module_.target = line.substr(start, line.find_first_of(", \t\r;", start) - start);
      }
    } else if (word == ".section") {
      while (peek().kind != Token::Kind::kEnd && !peek().Is('{')) Next();
      Expect('{');
      for (int depth = 1; depth > 0;) {
        if (peek().kind == Token::Kind::kEnd) Error("expected '}'");
        Token next = Next();
        depth += next.Is('{') ? 1 : next.Is('}') ? -1 : 0;
      }
    } else if (word == ".pragma") {
      Next();
      while (peek().kind != Token::Kind::kEnd && !Accept(';')) Next();
    } else if (word == ".alias") {
      throw PtxError("the PTX directive .alias is not supported by the CPU device");
    } else {
      Linkage();
    }
  }

  void Linkage() {
    bool external = false;
    while (peek().Is(".visible") || peek().Is(".extern") || peek().Is(".weak") ||
           peek().Is(".common")) {
      external |= peek().Is(".extern");
      Next();
    }
    if (peek().Is(".entry") || peek().Is(".func")) {
      ParseFunction(Next().text == ".entry");
    } else {
      Variable variable = ParseVariable();
      if (variable.unsized && variable.space == Space::kShared) external = false;
      if (external) {
        throw PtxError("the variable " + variable.name + " is declared .extern and defined nowhere");
      }
      Expect(';');
      module_.variable_of[variable.name] = static_cast<int>(module_.variables.size());
      module_.variables.push_back(std::move(variable));
    }
  }

  static Space SpaceOf(std::string_view word) {
    static const std::array<std::pair<std::string_view, Space>, 5> kSpaces = {{
        {".global", Space::kGlobal}, {".const", Space::kConst}, {".shared", Space::kShared},
        {".local", Space::kLocal}, {".param", Space::kParam}}};
    for (const auto& [name, space] : kSpaces) {
      if (word == name) return space;
    }
    return Space::kNone;
  }

  // [space] [.align n] .type name [dims] [= initialiser]; the caller takes the ';' or ','.
  Variable ParseVariable() {
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
      } else if (word == ".ptr" || word == ".unified" || word == ".managed" || SpaceOf(word) != Space::kNone) {
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

  void Initialiser(Variable& variable, int width, int depth) {
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

  uint64_t Integer() {
    Operand literal = Literal();
    if (literal.kind != Operand::Kind::kInteger) Error("expected an integer");
    return literal.bits;
  }

  Operand Literal() {
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

  // --- functions ---

  void ParseFunction(bool entry) {
    Function function;
    function.entry = entry;
    function.text_line = peek().line;
    function_ = &function;
    scopes_.clear();
    scopes_.emplace_back();
    scope_ = 0;
    branches_.clear();
    lines_.StartFunction();
    while (peek().kind == Token::Kind::kWord && peek().text[0] == '.') Next();  // .noreturn ...
    if (peek().Is('(')) ParseFormals(function.results);
    function.name = Word();
    if (peek().Is('(')) ParseFormals(function.params);
    while (peek().kind == Token::Kind::kWord && peek().text[0] == '.') Performance(function);
    if (Accept(';')) {
      Keep(std::move(function));
      return;
    }
    Expect('{');
    function.defined = true;
    Body(0);
    ResolveBranches();
    Keep(std::move(function));
  }

  void Keep(Function function) {
    function_ = nullptr;
    auto found = module_.function_of.find(function.name);
    if (found == module_.function_of.end()) {
      module_.function_of[function.name] = static_cast<int>(module_.functions.size());
      module_.functions.push_back(std::move(function));
    } else if (function.defined) {
      if (module_.functions[found->second].defined) {
        throw PtxError("the PTX defines " + function.name + " twice");
      }
      module_.functions[found->second] = std::move(function);
    }
  }

  void ParseFormals(std::vector<int>& list) {
    Expect('(');
    while (!peek().Is(')')) {
      if (peek().Is(".reg")) throw PtxError("functions with .reg parameters are not supported");
      Variable variable = ParseVariable();
      if (variable.space != Space::kParam) Error("expected .param");
      list.push_back(AddVariable(std::move(variable)));
      if (!Accept(',')) break;
    }
    Expect(')');
  }

  void Performance(Function& function) {
    std::string word = Word();
    std::vector<uint64_t> values;
    while (peek().kind == Token::Kind::kNumber) {
      values.push_back(Integer());
      Accept(',');
    }
    if (word == ".maxntid" || word == ".reqntid") {
      uint64_t product = 1;
      for (uint64_t value : values) product *= std::min<uint64_t>(value, 1u << 20);
      function.max_threads = static_cast<int>(std::min<uint64_t>(product, 1u << 20));
    } else if (word != ".minnctapersm" && word != ".maxnreg" && word != ".maxnctapersm" &&
               word != ".noreturn" && word != ".pragma" && word != ".blocksareclusters" &&
               word != ".reqnctapercluster" && word != ".maxclusterrank" && word != ".explicitcluster") {
      throw PtxError("the PTX directive " + word + " is not supported by the CPU device");
    } else if (word == ".reqnctapercluster" || word == ".explicitcluster") {
      throw PtxError("thread block clusters are not supported by the CPU device");
    }
    while (peek().kind == Token::Kind::kString) Next();
    if (word == ".pragma") Accept(';');
  }

  int AddVariable(Variable variable) {
    int index = static_cast<int>(function_->variables.size());
    scopes_[scope_].variables[variable.name] = index;
    function_->variables.push_back(std::move(variable));
    return index;
  }

  void Body(int depth) {
    if (depth > kMaxNesting) Error("blocks nested too deeply");
    while (!Accept('}')) {
      if (peek().kind == Token::Kind::kEnd) Error("expected '}'");
      if (Accept('{')) {
        Scope inner;
        inner.parent = scope_;
        int outer = scope_;
        scope_ = static_cast<int>(scopes_.size());
        scopes_.push_back(std::move(inner));
        Body(depth + 1);
        scope_ = outer;
      } else if (Accept(';')) {
        continue;
      } else {
        BodyItem();
      }
    }
  }

  void BodyItem() {
    if (peek().Is(".loc")) {
      lines_.Loc(lexer_.RestOfLine());
      return;
    }
    if (peek().Is(".file")) {
      lexer_.RestOfLine();
      return;
    }
    if (peek().Is(".pragma")) {
      while (peek().kind != Token::Kind::kEnd && !Accept(';')) Next();
      return;
    }
    if (peek().Is(".reg")) {
      ParseRegisters();
      return;
    }
    if (peek().kind == Token::Kind::kWord && peek().text[0] == '.') {
      if (SpaceOf(peek().text) == Space::kNone) Error("the directive is not known");
      do {
        AddVariable(ParseVariable());
      } while (false);
      Expect(';');
      return;
    }
    ParseStatement();
  }

  void ParseRegisters() {
    Next();
    std::string type = Word();
    int bytes = type == ".pred" ? 0 : TypeBytes(std::string_view(type).substr(1));
    if (bytes < 0 || bytes > 16) Error("a register of type " + type);
    do {
      std::string name = Word();
      if (Accept('<')) {
        uint64_t count = Integer();
        Expect('>');
        scopes_[scope_].ranges[name] = {static_cast<uint8_t>(bytes), count};
      } else {
        scopes_[scope_].registers[name] = NewRegister(static_cast<uint8_t>(bytes));
      }
    } while (Accept(','));
    Expect(';');
  }

  int NewRegister(uint8_t bytes) {
    if (function_->registers.size() >= kMaxRegisters) Error("more than 60000 registers");
    function_->registers.push_back({bytes});
    return static_cast<int>(function_->registers.size()) - 1;
  }

  // A register of this name, allocated when a declared range first names it; -1 = none.
  int FindRegister(const std::string& name) {
    size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    for (int s = scope_; s >= 0; s = scopes_[s].parent) {
      Scope& scope = scopes_[s];
      if (auto found = scope.registers.find(name); found != scope.registers.end()) {
        return found->second;
      }
      if (digits == name.size() || name.size() - digits > 9) continue;
      if (auto range = scope.ranges.find(name.substr(0, digits)); range != scope.ranges.end()) {
        uint64_t number = std::strtoull(name.c_str() + digits, nullptr, 10);
        if (number >= range->second.count) continue;
        int index = NewRegister(range->second.bytes);
        scope.registers[name] = index;
        return index;
      }
    }
    return -1;
  }

  int FindVariable(const std::string& name) const {
    for (int s = scope_; s >= 0; s = scopes_[s].parent) {
      auto found = scopes_[s].variables.find(name);
      if (found != scopes_[s].variables.end()) return found->second;
    }
    return -1;
  }

  void ParseStatement() {
    Statement statement;
    statement.text_line = peek().line;
    statement.line = lines_.line();
    if (Accept('@')) {
      statement.guard_negated = Accept('!');
      std::string name = Word();
      statement.guard = FindRegister(name);
      if (statement.guard < 0 || function_->registers[statement.guard].bytes != 0) {
        Error("the guard " + name + " is no predicate");
      }
    }
    statement.opcode = Word();
    if (Accept(':')) {  // it was a label
      if (statement.guard >= 0) Error("a guard before a label");
      if (peek().Is(".branchtargets")) {
        Next();
        std::vector<std::string> targets;
        do targets.push_back(Word());
        while (Accept(','));
        Expect(';');
        scopes_[scope_].tables[statement.opcode] = std::move(targets);
      } else if (peek().Is(".callprototype")) {
        throw PtxError("indirect calls are not supported by the CPU device");
      } else {
        scopes_[scope_].labels[statement.opcode] = static_cast<uint32_t>(function_->body.size());
      }
      return;
    }
    while (!Accept(';')) {
      if (peek().kind == Token::Kind::kEnd || peek().Is('}')) Error("expected ';'");
      statement.operands.push_back(ParseOperand(0));
      if (peek().Is(';')) continue;
      Expect(',');
    }
    if (function_->body.size() >= kMaxStatements) Error("more than 2000000 instructions");
    std::string_view base = std::string_view(statement.opcode).substr(0, statement.opcode.find('.'));
    if (base == "bra" || base == "brx") {
      branches_.push_back({static_cast<uint32_t>(function_->body.size()), scope_});
    }
    function_->body.push_back(std::move(statement));
  }

  Operand ParseOperand(int depth) {
    if (depth > 4) Error("operands nested too deeply");
    Operand operand;
    if (Accept('[')) {
      operand.kind = Operand::Kind::kAddress;
      operand.items.push_back(ParseOperand(depth + 1));
      operand.offset = operand.items[0].offset;
      operand.items[0].offset = 0;
      if (peek().Is(',')) throw PtxError("PTX line " + std::to_string(peek().line) +
                                         ": tensor coordinates are not supported by the CPU device");
      Expect(']');
      return operand;
    }
    if (peek().Is('{') || peek().Is('(')) {
      char close = Next().Is('{') ? '}' : ')';
      operand.kind = close == '}' ? Operand::Kind::kVector : Operand::Kind::kList;
      while (!peek().Is(close)) {
        operand.items.push_back(ParseOperand(depth + 1));
        if (operand.items.size() > 256) Error("too many elements");
        if (!Accept(',')) break;
      }
      Expect(close);
      return operand;
    }
    if (Accept('!')) {
      operand = ParseOperand(depth + 1);
      operand.negated = !operand.negated;
      return operand;
    }
    if (peek().kind == Token::Kind::kNumber || peek().Is('-') || peek().Is('+') || peek().Is('~')) {
      return Literal();
    }
    std::string name = Word();
    if (name == "_") {
      operand.kind = Operand::Kind::kSink;
    } else if (int reg = FindRegister(name); reg >= 0) {
      operand.kind = Operand::Kind::kRegister;
      operand.index = reg;
    } else if (name[0] == '%') {
      operand.kind = Operand::Kind::kSpecial;
      operand.name = name;
    } else if (int variable = FindVariable(name); variable >= 0) {
      operand.kind = Operand::Kind::kVariable;
      operand.index = variable;
    } else {
      operand.kind = Operand::Kind::kSymbol;
      operand.name = name;
    }
    if (Accept('|')) {
      operand.items.push_back(ParseOperand(depth + 1));
    } else if (peek().Is('+') || (peek().Is('-') && depth > 0)) {
      operand.offset = static_cast<int64_t>(Integer());
    }
    return operand;
  }

  std::optional<uint32_t> FindLabel(const std::string& name, int scope) const {
    for (int s = scope; s >= 0; s = scopes_[s].parent) {
      auto found = scopes_[s].labels.find(name);
      if (found != scopes_[s].labels.end()) return found->second;
    }
    return std::nullopt;
  }

  void ResolveBranches() {
    for (const auto& [at, scope] : branches_) {
      Statement& statement = function_->body[at];
      auto target = [&](const std::string& name) {
        std::optional<uint32_t> found = FindLabel(name, scope);
        if (!found) {
          throw PtxError("PTX line " + std::to_string(statement.text_line) + ": there is no label " +
                         name.substr(0, 80));
        }
        return *found;
      };
      if (statement.operands.empty()) throw PtxError("a branch without a target");
      const Operand& last = statement.operands.back();
      if (last.kind != Operand::Kind::kSymbol) {
        throw PtxError("PTX line " + std::to_string(statement.text_line) + ": a branch to no label");
      }
      if (statement.opcode[2] != 'x') {
        statement.target = target(last.name);
        continue;
      }
      const std::vector<std::string>* table = nullptr;
      for (int s = scope; s >= 0 && table == nullptr; s = scopes_[s].parent) {
        auto found = scopes_[s].tables.find(last.name);
        if (found != scopes_[s].tables.end()) table = &found->second;
      }
      if (table == nullptr) throw PtxError("brx.idx without .branchtargets");
      for (const std::string& name : *table) statement.targets.push_back(target(name));
    }
  }

  Lexer lexer_;
  ModuleText module_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = 0;
  struct Branch {
    uint32_t at;
    int scope;
  };
  std::vector<Branch> branches_;
  SourceLines lines_;
};

}  // namespace

int TypeBytes(std::string_view type) {
  static const std::array<std::pair<std::string_view, int>, 24> kTypes = {{
      {"pred", 0}, {"b8", 1}, {"u8", 1}, {"s8", 1}, {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2},
      {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4},
      {"tf32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}, {"e4m3x2", 2},
      {"e5m2x2", 2}, {"f32x2", 8}}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  return -1;
}

ModuleText ParsePtx(std::string_view text) { return Parser(text).Parse(); }

}  // namespace cudaagent::device::ptx
