#include "device/ptx/function_parser.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "device/ptx/program.h"
#include "device/ptx/source_lines.h"

namespace cudaagent::device::ptx {
namespace {

constexpr size_t kMaxRegisters = 60'000;
constexpr size_t kMaxStatements = 2'000'000;
constexpr int kMaxNesting = 64;

struct Declaration {  // ".reg .b32 %r<112>"
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

class FunctionParser {
 public:
  explicit FunctionParser(TextReader& reader) : in_(reader) {}

  Function Parse(bool entry) {
    Function function;
    function.entry = entry;
    function.text_line = in_.peek().line;
    function_ = &function;
    scopes_.emplace_back();
    while (in_.AtDirective()) in_.Next();  // .noreturn ...
    if (in_.peek().Is('(')) ParseFormals(function.results);
    function.name = in_.Word();
    if (in_.peek().Is('(')) ParseFormals(function.params);
    while (in_.AtDirective()) Performance(function);
    if (in_.Accept(';')) return function;
    in_.Expect('{');
    function.defined = true;
    Body(0);
    ResolveBranches();
    return function;
  }

 private:
  void ParseFormals(std::vector<int>& list) {
    in_.Expect('(');
    while (!in_.peek().Is(')')) {
      if (in_.peek().Is(".reg")) throw PtxError("functions with .reg parameters are not supported");
      Variable variable = in_.ReadVariable();
      if (variable.space != Space::kParam) in_.Error("expected .param");
      list.push_back(AddVariable(std::move(variable)));
      if (!in_.Accept(',')) break;
    }
    in_.Expect(')');
  }

  void Performance(Function& function) {
    std::string word = in_.Word();
    std::vector<uint64_t> values;
    while (in_.peek().kind == Token::Kind::kNumber) {
      values.push_back(in_.Integer());
      in_.Accept(',');
    }
    if (word == ".maxntid" || word == ".reqntid") {
      uint64_t product = 1;
      for (uint64_t value : values) product *= std::min<uint64_t>(value, 1u << 20);
      function.max_threads = static_cast<int>(std::min<uint64_t>(product, 1u << 20));
    } else if (word != ".minnctapersm" && word != ".maxnreg" && word != ".maxnctapersm" &&
               word != ".noreturn" && word != ".pragma" && word != ".blocksareclusters" &&
               word != ".reqnctapercluster" && word != ".maxclusterrank" &&
               word != ".explicitcluster") {
      throw PtxError("the PTX directive " + word + " is not supported by the CPU device");
    } else if (word == ".reqnctapercluster" || word == ".explicitcluster") {
      throw PtxError("thread block clusters are not supported by the CPU device");
    }
    while (in_.peek().kind == Token::Kind::kString) in_.Next();
    if (word == ".pragma") in_.Accept(';');
  }

  int AddVariable(Variable variable) {
    int index = static_cast<int>(function_->variables.size());
    scopes_[scope_].variables[variable.name] = index;
    function_->variables.push_back(std::move(variable));
    return index;
  }

  void Body(int depth) {
    if (depth > kMaxNesting) in_.Error("blocks nested too deeply");
    while (!in_.Accept('}')) {
      if (in_.AtEnd()) in_.Error("expected '}'");
      if (in_.Accept('{')) {
        Scope inner;
        inner.parent = scope_;
        int outer = scope_;
        scope_ = static_cast<int>(scopes_.size());
        scopes_.push_back(std::move(inner));
        Body(depth + 1);
        scope_ = outer;
      } else if (in_.Accept(';')) {
        continue;
      } else {
        BodyItem();
      }
    }
  }

  void BodyItem() {
    if (in_.peek().Is(".loc")) {
      lines_.Loc(in_.RestOfLine());
      return;
    }
    if (in_.peek().Is(".file")) {
      in_.RestOfLine();
      return;
    }
    if (in_.peek().Is(".pragma")) {
      in_.SkipStatement();
      return;
    }
    // ".reg .b32 r;", in inline PTX also ".reg.b32 r;".
    if (in_.AtDirective() && (in_.peek().Is(".reg") || in_.peek().text.substr(0, 5) == ".reg.")) {
      ParseRegisters();
      return;
    }
    if (in_.AtDirective()) {
      if (SpaceOf(in_.peek().text) == Space::kNone) in_.Error("the directive is not known");
      AddVariable(in_.ReadVariable());
      in_.Expect(';');
      return;
    }
    ParseStatement();
  }

  void ParseRegisters() {
    std::string type = std::string(in_.Next().text).substr(4);
    if (type.empty()) type = in_.Word();
    int bytes = type == ".pred" ? 0 : TypeBytes(std::string_view(type).substr(1));
    if (bytes < 0 || bytes > 16) in_.Error("a register of type " + type);
    do {
      std::string name = in_.Word();
      if (in_.Accept('<')) {
        uint64_t count = in_.Integer();
        in_.Expect('>');
        scopes_[scope_].ranges[name] = {static_cast<uint8_t>(bytes), count};
      } else {
        scopes_[scope_].registers[name] = NewRegister(static_cast<uint8_t>(bytes));
      }
    } while (in_.Accept(','));
    in_.Expect(';');
  }

  int NewRegister(uint8_t bytes) {
    if (function_->registers.size() >= kMaxRegisters) in_.Error("more than 60000 registers");
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
    statement.text_line = in_.peek().line;
    statement.line = lines_.line();
    if (in_.Accept('@')) {
      statement.guard_negated = in_.Accept('!');
      std::string name = in_.Word();
      statement.guard = FindRegister(name);
      if (statement.guard < 0 || function_->registers[statement.guard].bytes != 0) {
        in_.Error("the guard " + name + " is no predicate");
      }
    }
    statement.opcode = in_.Word();
    if (in_.Accept(':')) {  // it was a label
      if (statement.guard >= 0) in_.Error("a guard before a label");
      if (in_.peek().Is(".branchtargets")) {
        in_.Next();
        std::vector<std::string> targets;
        do targets.push_back(in_.Word());
        while (in_.Accept(','));
        in_.Expect(';');
        scopes_[scope_].tables[statement.opcode] = std::move(targets);
      } else if (in_.peek().Is(".callprototype")) {
        throw PtxError("indirect calls are not supported by the CPU device");
      } else {
        scopes_[scope_].labels[statement.opcode] = static_cast<uint32_t>(function_->body.size());
      }
      return;
    }
    while (!in_.Accept(';')) {
      if (in_.AtEnd() || in_.peek().Is('}')) in_.Error("expected ';'");
      statement.operands.push_back(ParseOperand(0));
      if (in_.peek().Is(';')) continue;
      in_.Expect(',');
    }
    if (function_->body.size() >= kMaxStatements) in_.Error("more than 2000000 instructions");
    std::string_view base =
        std::string_view(statement.opcode).substr(0, statement.opcode.find('.'));
    if (base == "bra" || base == "brx") {
      branches_.push_back({static_cast<uint32_t>(function_->body.size()), scope_});
    }
    function_->body.push_back(std::move(statement));
  }

  Operand ParseOperand(int depth) {
    if (depth > 4) in_.Error("operands nested too deeply");
    Operand operand;
    if (in_.Accept('[')) {
      operand.kind = Operand::Kind::kAddress;
      operand.items.push_back(ParseOperand(depth + 1));
      operand.offset = operand.items[0].offset;
      operand.items[0].offset = 0;
      if (in_.peek().Is(','))
        throw PtxError("PTX line " + std::to_string(in_.peek().line) +
                       ": tensor coordinates are not supported by the CPU device");
      in_.Expect(']');
      return operand;
    }
    if (in_.peek().Is('{') || in_.peek().Is('(')) {
      char close = in_.Next().Is('{') ? '}' : ')';
      operand.kind = close == '}' ? Operand::Kind::kVector : Operand::Kind::kList;
      while (!in_.peek().Is(close)) {
        operand.items.push_back(ParseOperand(depth + 1));
        if (operand.items.size() > 256) in_.Error("too many elements");
        if (!in_.Accept(',')) break;
      }
      in_.Expect(close);
      return operand;
    }
    if (in_.Accept('!')) {
      operand = ParseOperand(depth + 1);
      operand.negated = !operand.negated;
      return operand;
    }
    if (in_.peek().kind == Token::Kind::kNumber || in_.peek().Is('-') || in_.peek().Is('+') ||
        in_.peek().Is('~')) {
      return in_.Literal();
    }
    std::string name = in_.Word();
    if (name == "_") {
      operand.kind = Operand::Kind::kSink;
    } else if (name == "WARP_SZ") {
      operand.kind = Operand::Kind::kInteger;
      operand.bits = kLanes;
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
    if (in_.Accept('|')) {
      operand.items.push_back(ParseOperand(depth + 1));
    } else if (in_.peek().Is('+') || (in_.peek().Is('-') && depth > 0)) {
      operand.offset = static_cast<int64_t>(in_.Integer());
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
      auto target = [&, scope = scope](const std::string& name) {
        std::optional<uint32_t> found = FindLabel(name, scope);
        if (!found) {
          throw PtxError("PTX line " + std::to_string(statement.text_line) +
                         ": there is no label " + name.substr(0, 80));
        }
        return *found;
      };
      if (statement.operands.empty()) throw PtxError("a branch without a target");
      const Operand& last = statement.operands.back();
      if (last.kind != Operand::Kind::kSymbol) {
        throw PtxError("PTX line " + std::to_string(statement.text_line) +
                       ": a branch to no label");
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

  struct Branch {
    uint32_t at;
    int scope;
  };

  TextReader& in_;
  Function* function_ = nullptr;
  std::vector<Scope> scopes_;
  int scope_ = 0;
  std::vector<Branch> branches_;
  SourceLines lines_;
};

}  // namespace

Function ParseFunction(TextReader& reader, bool entry) {
  return FunctionParser(reader).Parse(entry);
}

}  // namespace cudaagent::device::ptx
