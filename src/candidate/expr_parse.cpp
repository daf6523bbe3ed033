// Recursive descent over the text itself. Depth and length are bounded: the text is a stranger's.
#include <charconv>
#include <initializer_list>
#include <utility>

#include "candidate/expr.h"
#include "candidate/expr_node.h"
#include "candidate/expr_parser.h"
#include "candidate/kernel_name.h"
#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

using NodePtr = std::shared_ptr<const ExprNode>;

constexpr size_t kMaxLength = 2048;
constexpr int kMaxDepth = 64;

NodePtr Make(ExprKind kind, std::vector<NodePtr> operands) {
  auto node = std::make_shared<ExprNode>();
  node->kind = kind;
  node->operands = std::move(operands);
  return node;
}

class Parser {
 public:
  // `real`: fractions, sqrt and rsqrt are part of the language, "%" and ceil_div are not.
  explicit Parser(std::string_view text, bool real = false) : text_(text), real_(real) {}

  NodePtr ParseWhole() {
    if (text_.size() > kMaxLength) {
      error_ = "the expression has " + std::to_string(text_.size()) + " characters, at most " +
               std::to_string(kMaxLength) + " are allowed";
      return nullptr;
    }
    NodePtr node = ParseSelect();
    if (node && SkipSpace() < text_.size()) {
      return Bad("unexpected " + Quote(text_.substr(at_, 1)) + Hint());
    }
    return node;
  }

  bool ParseWholeName(NameTemplate* name) {
    if (!ParseNameInto(name)) return false;
    if (at_ < text_.size()) Bad("a name cannot hold " + Quote(text_.substr(at_, 1)));
    return error_.empty();
  }

  const std::string& error() const { return error_; }

 private:
  struct Operator {
    std::string_view text;
    ExprKind kind;
  };
  using Level = NodePtr (Parser::*)();

  size_t SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    return at_;
  }
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  bool Accept(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  NodePtr Bad(std::string what) {
    if (error_.empty()) {
      error_ = what + " at column " + std::to_string(at_ + 1) + " of " + Quote(text_);
    }
    return nullptr;
  }
  std::string Hint() const {
    if (Peek() == '[') return " (sizes are written x.size(0))";
    if (Peek() == '=' || Peek() == '&' || Peek() == '|') return " (operators are == != && ||)";
    return "";
  }

  NodePtr ParseSelect() {
    if (++depth_ > kMaxDepth) return Bad("the expression nests too deeply");
    NodePtr condition = ParseOr();
    if (condition && Accept("?")) {
      NodePtr yes = ParseSelect();
      if (yes && !Accept(":")) return Bad("expected ':' of '?:'");
      NodePtr no = yes ? ParseSelect() : nullptr;
      if (!no) return nullptr;
      condition = Make(ExprKind::kSelect, {condition, yes, no});
    }
    --depth_;
    return condition;
  }

  NodePtr ParseChain(Level next, std::initializer_list<Operator> operators) {
    NodePtr left = (this->*next)();
    while (left) {
      const Operator* found = nullptr;
      for (const Operator& each : operators) {
        if (Accept(each.text)) {
          found = &each;
          break;
        }
      }
      if (!found) break;
      NodePtr right = (this->*next)();
      if (!right) return nullptr;
      left = Make(found->kind, {left, right});
    }
    return left;
  }
  NodePtr ParseOr() { return ParseChain(&Parser::ParseAnd, {{"||", ExprKind::kOr}}); }
  NodePtr ParseAnd() { return ParseChain(&Parser::ParseEquality, {{"&&", ExprKind::kAnd}}); }
  NodePtr ParseEquality() {
    return ParseChain(&Parser::ParseRelation,
                      {{"==", ExprKind::kEqual}, {"!=", ExprKind::kNotEqual}});
  }
  NodePtr ParseRelation() {
    return ParseChain(&Parser::ParseSum, {{"<=", ExprKind::kLessEqual},
                                          {">=", ExprKind::kGreaterEqual},
                                          {"<", ExprKind::kLess},
                                          {">", ExprKind::kGreater}});
  }
  NodePtr ParseSum() {
    return ParseChain(&Parser::ParseProduct, {{"+", ExprKind::kAdd}, {"-", ExprKind::kSubtract}});
  }
  NodePtr ParseProduct() {
    return ParseChain(
        &Parser::ParseUnary,
        {{"*", ExprKind::kMultiply}, {"/", ExprKind::kDivide}, {"%", ExprKind::kRemainder}});
  }

  NodePtr ParseUnary() {
    SkipSpace();
    const bool is_not = Peek() == '!' && Peek(1) != '=';
    if (!is_not && Peek() != '-') return ParsePrimary();
    if (++depth_ > kMaxDepth) return Bad("the expression nests too deeply");
    ++at_;
    NodePtr operand = ParseUnary();
    if (!operand) return nullptr;
    --depth_;
    return Make(is_not ? ExprKind::kNot : ExprKind::kNegate, {operand});
  }

  NodePtr ParsePrimary() {
    if (Accept("(")) {
      NodePtr inner = ParseSelect();
      if (inner && !Accept(")")) return Bad("expected ')'" + Hint());
      return inner;
    }
    const char c = Peek();
    if (IsIdentifierStart(c) || IsDigit(c) || c == '$' || c == '{') return ParseWord();
    return Bad("expected a number, a name or '('");
  }

  // A number, a call, a tensor's property or a value's name.
  NodePtr ParseWord() {
    if (real_ && IsDigit(Peek())) {
      if (NodePtr number = ParseReal()) return number;
    }
    if (IsDigit(Peek())) {
      size_t end = at_;
      while (end < text_.size() && (IsIdentifierChar(text_[end]) || text_[end] == '.')) ++end;
      std::string_view word = text_.substr(at_, end - at_);
      // "0.weight" is a state_dict name; "0.5", "1e5" and "0x10" are not.
      const size_t letter = word.find_first_not_of("0123456789.");
      const bool name = letter == std::string_view::npos
                            ? word.back() == '.' && end < text_.size() && text_[end] == '{'
                            : word[letter - 1] == '.';
      if (!name) return ParseNumber(word);
    }
    const size_t start = at_;
    NameTemplate name;
    if (!ParseNameInto(&name)) return nullptr;
    const bool plain = name.holes.empty();
    const std::string& last = name.texts.back();
    if (plain && Peek() == '(' && last.find('.') == std::string::npos)
      return ParseCall(start, last);
    if (plain && (last == "true" || last == "false")) return Literal(last == "true");

    auto property = [&](std::string_view suffix) {
      if (last.size() < suffix.size() + (plain ? 1 : 0) || !last.ends_with(suffix)) return false;
      name.texts.back().resize(last.size() - suffix.size());
      return true;
    };
    auto node = std::make_shared<ExprNode>();
    if (property(".numel")) {
      node->kind = ExprKind::kNumel;
      if (Accept("(") && !Accept(")")) return Bad("expected ')' after numel(");
    } else if (Peek() == '(') {
      if (property(".size")) {
        node->kind = ExprKind::kSize;
      } else if (property(".stride")) {
        node->kind = ExprKind::kStride;
      } else {
        return Bad("a tensor has .size(i), .stride(i) and .numel, nothing else");
      }
      Accept("(");
      NodePtr index = ParseInteger();
      if (index && !Accept(")")) return Bad("expected ')'");
      if (!index) return nullptr;
      node->operands = {index};
    } else {
      node->kind = ExprKind::kValue;
    }
    node->name = std::move(name);
    return node;
  }

  // Indices and pieces of names are integers inside an fexpr too.
  NodePtr ParseInteger() {
    const bool real = std::exchange(real_, false);
    NodePtr node = ParseSelect();
    real_ = real;
    return node;
  }

  NodePtr Literal(int64_t value) {
    auto node = std::make_shared<ExprNode>();
    node->literal = value;
    return node;
  }

  // nullptr without an error where what starts with a digit is a name ("0.weight").
  NodePtr ParseReal() {
    auto node = std::make_shared<ExprNode>();
    node->kind = ExprKind::kReal;
    const char* begin = text_.data() + at_;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), node->real);
    const size_t next = static_cast<size_t>(end - text_.data());
    const bool name = next < text_.size() && (IsIdentifierChar(text_[next]) || text_[next] == '.');
    if (status != std::errc() || name) return nullptr;
    at_ = next;
    return node;
  }

  NodePtr ParseNumber(std::string_view word) {
    int64_t value = 0;
    auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (status == std::errc::result_out_of_range) {
      return Bad(Quote(word, 24) + " does not fit in 64 bits");
    }
    if (end != word.data() + word.size()) return Bad(Quote(word, 24) + " is not a decimal integer");
    at_ += word.size();
    return Literal(value);
  }

  NodePtr ParseCall(size_t start, const std::string& function) {
    ExprKind kind = ExprKind::kMin;
    if (function == "max") {
      kind = ExprKind::kMax;
    } else if (function == "ceil_div" && !real_) {
      kind = ExprKind::kCeilDiv;
    } else if (function == "max_blocks" && !real_) {
      return ParseMaxBlocks();
    } else if ((function == "sqrt" || function == "rsqrt") && real_) {
      return ParseRoot(function == "sqrt" ? ExprKind::kSqrt : ExprKind::kRsqrt);
    } else if (function != "min") {
      at_ = start;
      const std::vector<std::string> known =
          real_ ? std::vector<std::string>{"min", "max", "sqrt", "rsqrt"}
                : std::vector<std::string>{"min", "max", "ceil_div", "max_blocks"};
      return Bad("unknown function " + Quote(function) + Suggest(function, known));
    }
    Accept("(");
    std::vector<NodePtr> operands;
    do {
      operands.push_back(ParseSelect());
      if (!operands.back()) return nullptr;
    } while (Accept(","));
    if (!Accept(")")) return Bad("expected ',' or ')'");
    if (operands.size() < 2 || (kind == ExprKind::kCeilDiv && operands.size() != 2)) {
      return Bad(function + (kind == ExprKind::kCeilDiv ? " takes two arguments"
                                                        : " takes two or more arguments"));
    }
    return Make(kind, std::move(operands));
  }

  NodePtr ParseRoot(ExprKind kind) {
    Accept("(");
    NodePtr operand = ParseSelect();
    if (!operand) return nullptr;
    if (!Accept(")")) return Bad("expected ')'");
    return Make(kind, {operand});
  }

  // max_blocks("kernel<BLOCK>", threads, shared bytes), the quotes double or single.
  NodePtr ParseMaxBlocks() {
    const char* form = "expected max_blocks(\"kernel\", threads, shared_bytes)";
    Accept("(");
    SkipSpace();
    const char quote = Peek();
    if (quote != '"' && quote != '\'') return Bad(form);
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Bad(form);
    auto kernel = ParseKernelName(text_.substr(at_ + 1, end - at_ - 1));
    if (!kernel) return Bad(kernel.error().message);
    at_ = end + 1;
    auto node = std::make_shared<ExprNode>();
    node->kind = ExprKind::kMaxBlocks;
    node->kernel = std::move(*kernel);
    while (Accept(",")) {
      NodePtr operand = ParseSelect();
      if (!operand) return nullptr;
      node->operands.push_back(std::move(operand));
    }
    if (!Accept(")") || node->operands.size() != 2) return Bad(form);
    return node;
  }

  // "$param:bias", "layers.{i + 1}.weight": an optional "$", then name characters and "{expr}".
  bool ParseNameInto(NameTemplate* name) {
    std::string text;
    if (Peek() == '$') ++at_;
    if (text_.substr(at_).starts_with("param:")) {
      text = "param:";
      at_ += text.size();
    }
    const size_t start = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (IsIdentifierChar(c) || c == '.') {
        text += c;
      } else if (c == '{') {
        ++at_;
        NodePtr hole = ParseInteger();
        if (hole && (SkipSpace(), Peek() != '}')) return Bad("expected '}'"), false;
        if (!hole) return false;
        name->texts.push_back(std::exchange(text, ""));
        name->holes.push_back(hole);
      } else {
        break;
      }
    }
    if (at_ == start) return Bad("expected a name"), false;
    name->texts.push_back(text);
    return true;
  }

  std::string_view text_;
  bool real_ = false;
  size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
};

}  // namespace

Checked<Expr> Expr::Parse(std::string_view text) { return ParseWith(text, /*real=*/false); }

Checked<Expr> Expr::ParseReal(std::string_view text) { return ParseWith(text, /*real=*/true); }

Checked<Expr> Expr::ParseWith(std::string_view text, bool real) {
  Parser parser(text, real);
  Expr expr;
  expr.root_ = parser.ParseWhole();
  if (!expr.root_) return Blame(Verdict::kBadCandidate, parser.error());
  expr.text_ = text;
  return expr;
}

Checked<NameTemplate> ParseNameTemplate(std::string_view text) {
  if (text.size() > kMaxLength) {
    return Blame(Verdict::kBadCandidate, "the name " + Quote(text, 40) + " is too long");
  }
  Parser parser(text);
  NameTemplate name;
  if (!parser.ParseWholeName(&name)) return Blame(Verdict::kBadCandidate, parser.error());
  return name;
}

}  // namespace cudaagent::candidate
