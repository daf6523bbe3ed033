#include <algorithm>
#include <cmath>
#include <limits>

#include "candidate/expr.h"
#include "candidate/expr_node.h"
#include "candidate/expr_parser.h"
#include "candidate/spelling.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

class Evaluator {
 public:
  Evaluator(const Scope& scope, std::string_view text) : scope_(scope), text_(text) {}

  Checked<std::string> Name(const NameTemplate& name) const {
    std::string text = name.texts[0];
    for (size_t i = 0; i < name.holes.size(); ++i) {
      auto value = Value(*name.holes[i]);
      if (!value) return tl::unexpected(value.error());
      text += std::to_string(*value) + name.texts[i + 1];
    }
    return text;
  }

  Checked<int64_t> Value(const ExprNode& node) const {
    switch (node.kind) {
      case ExprKind::kLiteral:
        return node.literal;
      case ExprKind::kValue:
        return NamedValue(node);
      case ExprKind::kSize:
      case ExprKind::kStride:
      case ExprKind::kNumel:
        return Property(node);
      case ExprKind::kSelect: {
        auto condition = Value(*node.operands[0]);
        if (!condition) return condition;
        return Value(*node.operands[*condition ? 1 : 2]);
      }
      case ExprKind::kAnd:
      case ExprKind::kOr: {
        auto left = Value(*node.operands[0]);
        if (!left) return left;
        if ((*left != 0) == (node.kind == ExprKind::kOr)) return *left != 0;
        auto right = Value(*node.operands[1]);
        if (!right) return right;
        return *right != 0;
      }
      case ExprKind::kMaxBlocks:
        return MaxBlocks(node);
      default:
        return Arithmetic(node);
    }
  }

  Checked<double> Real(const ExprNode& node) const {
    switch (node.kind) {
      case ExprKind::kReal:
        return node.real;
      case ExprKind::kLiteral:
        return static_cast<double>(node.literal);
      case ExprKind::kValue:
        return NamedReal(node);
      case ExprKind::kSize:
      case ExprKind::kStride:
      case ExprKind::kNumel:
        return Property(node).map([](int64_t value) { return static_cast<double>(value); });
      case ExprKind::kSelect: {
        auto condition = Real(*node.operands[0]);
        if (!condition) return condition;
        return Real(*node.operands[*condition != 0 ? 1 : 2]);
      }
      default:
        break;
    }
    auto result = Real(*node.operands[0]);
    if (!result) return result;
    if (node.operands.size() == 1) return Unary(node.kind, *result);
    for (size_t i = 1; i < node.operands.size(); ++i) {
      auto operand = Real(*node.operands[i]);
      if (!operand) return operand;
      result = CombineReal(node.kind, *result, *operand);
      if (!result) return result;
    }
    return result;
  }

 private:
  tl::unexpected<Fault> Bad(const std::string& what) const {
    return Blame(Verdict::kBadCandidate, what + " in " + Quote(text_));
  }

  Checked<int64_t> NamedValue(const ExprNode& node) const {
    auto name = Name(node.name);
    if (!name) return tl::unexpected(name.error());
    if (auto value = scope_.Value(*name)) return *value;
    if (scope_.Tensor(*name)) {
      return Bad(Quote(*name) + " is a tensor; use its .size(i), .stride(i) or .numel");
    }
    return Bad("unknown name " + Quote(*name));
  }

  Checked<double> NamedReal(const ExprNode& node) const {
    auto name = Name(node.name);
    if (!name) return tl::unexpected(name.error());
    if (auto value = scope_.Real(*name)) return *value;
    return NamedValue(node).map([](int64_t value) { return static_cast<double>(value); });
  }

  Checked<int64_t> MaxBlocks(const ExprNode& node) const {
    auto instance = KernelInstance(node.kernel, scope_);
    if (!instance) return tl::unexpected(instance.error());
    auto threads = Value(*node.operands[0]);
    if (!threads) return threads;
    auto shared_bytes = Value(*node.operands[1]);
    if (!shared_bytes) return shared_bytes;
    auto blocks = scope_.MaxBlocks(*instance, *threads, *shared_bytes);
    if (!blocks) return Blame(blocks.error().verdict, blocks.error().message);
    if (!*blocks) return Bad("max_blocks is known on a device only; it cannot be used here,");
    return **blocks;
  }

  Checked<double> Unary(ExprKind kind, double value) const {
    if (kind == ExprKind::kNegate) return -value;
    if (kind == ExprKind::kNot) return value == 0 ? 1.0 : 0.0;
    if (value < 0) return Bad("the root of a negative number");
    if (kind == ExprKind::kSqrt) return std::sqrt(value);
    if (value == 0) return Bad("division by zero");
    return 1 / std::sqrt(value);
  }

  Checked<double> CombineReal(ExprKind kind, double a, double b) const {
    switch (kind) {
      case ExprKind::kAdd:
        return a + b;
      case ExprKind::kSubtract:
        return a - b;
      case ExprKind::kMultiply:
        return a * b;
      case ExprKind::kDivide:
        if (b == 0) return Bad("division by zero");
        return a / b;
      case ExprKind::kEqual:
        return a == b;
      case ExprKind::kNotEqual:
        return a != b;
      case ExprKind::kLess:
        return a < b;
      case ExprKind::kLessEqual:
        return a <= b;
      case ExprKind::kGreater:
        return a > b;
      case ExprKind::kGreaterEqual:
        return a >= b;
      case ExprKind::kAnd:
        return a != 0 && b != 0;
      case ExprKind::kOr:
        return a != 0 || b != 0;
      case ExprKind::kMin:
        return std::min(a, b);
      case ExprKind::kMax:
        return std::max(a, b);
      default:
        return Bad("\"%\" is for integers, not for an fexpr");
    }
  }

  Checked<int64_t> Property(const ExprNode& node) const {
    auto name = Name(node.name);
    if (!name) return tl::unexpected(name.error());
    const TensorInfo* tensor = scope_.Tensor(*name);
    if (!tensor) return Bad("unknown tensor " + Quote(*name));
    if (node.kind == ExprKind::kNumel) {
      int64_t numel = 1;
      for (int64_t extent : tensor->shape) {
        if (__builtin_mul_overflow(numel, extent, &numel)) return Bad("overflow");
      }
      return numel;
    }
    auto index = Value(*node.operands[0]);
    if (!index) return index;
    const auto rank = static_cast<int64_t>(tensor->shape.size());
    const int64_t dimension = *index < 0 ? *index + rank : *index;
    if (dimension < 0 || dimension >= rank) {
      return Bad("dimension " + std::to_string(*index) + " of " + Quote(*name) + ", which has " +
                 std::to_string(rank) + " dimensions,");
    }
    const auto& list = node.kind == ExprKind::kSize ? tensor->shape : tensor->strides;
    if (static_cast<size_t>(dimension) >= list.size()) {
      return Bad("the strides of " + Quote(*name) + " are not known");
    }
    return list[dimension];
  }

  // Every operand is needed; all arithmetic is checked.
  Checked<int64_t> Arithmetic(const ExprNode& node) const {
    auto first = Value(*node.operands[0]);
    if (!first) return first;
    int64_t result = *first;
    if (node.kind == ExprKind::kNot) return result == 0;
    if (node.kind == ExprKind::kNegate) {
      if (__builtin_sub_overflow(int64_t{0}, result, &result)) return Bad("overflow");
      return result;
    }
    for (size_t i = 1; i < node.operands.size(); ++i) {
      auto operand = Value(*node.operands[i]);
      if (!operand) return operand;
      auto combined = Combine(node.kind, result, *operand);
      if (!combined) return combined;
      result = *combined;
    }
    return result;
  }

  Checked<int64_t> Combine(ExprKind kind, int64_t a, int64_t b) const {
    int64_t result = 0;
    switch (kind) {
      case ExprKind::kAdd:
        if (__builtin_add_overflow(a, b, &result)) return Bad("overflow");
        return result;
      case ExprKind::kSubtract:
        if (__builtin_sub_overflow(a, b, &result)) return Bad("overflow");
        return result;
      case ExprKind::kMultiply:
        if (__builtin_mul_overflow(a, b, &result)) return Bad("overflow");
        return result;
      case ExprKind::kDivide:
      case ExprKind::kRemainder:
      case ExprKind::kCeilDiv:
        if (b == 0) return Bad("division by zero");
        if (b == -1) {  // INT64_MIN / -1 does not fit
          if (kind == ExprKind::kRemainder) return 0;
          if (__builtin_sub_overflow(int64_t{0}, a, &result)) return Bad("overflow");
          return result;
        }
        if (kind == ExprKind::kRemainder) return a % b;
        if (kind == ExprKind::kDivide) return a / b;
        return a / b + (a % b != 0 && (a < 0) == (b < 0));
      case ExprKind::kEqual:
        return a == b;
      case ExprKind::kNotEqual:
        return a != b;
      case ExprKind::kLess:
        return a < b;
      case ExprKind::kLessEqual:
        return a <= b;
      case ExprKind::kGreater:
        return a > b;
      case ExprKind::kGreaterEqual:
        return a >= b;
      case ExprKind::kMin:
        return std::min(a, b);
      default:
        return std::max(a, b);
    }
  }

  const Scope& scope_;
  std::string_view text_;
};

Checked<void> Collect(const ExprNode& node, const Evaluator& evaluator, ExprNames* names) {
  if (!node.name.texts.empty()) {
    auto name = evaluator.Name(node.name);
    if (!name) return tl::unexpected(name.error());
    (node.kind == ExprKind::kValue ? names->values : names->tensors).push_back(*name);
    for (const auto& hole : node.name.holes) {
      if (auto inner = Collect(*hole, evaluator, names); !inner) return inner;
    }
  }
  names->max_blocks = names->max_blocks || node.kind == ExprKind::kMaxBlocks;
  for (const auto& operand : node.operands) {
    if (auto inner = Collect(*operand, evaluator, names); !inner) return inner;
  }
  return {};
}

}  // namespace

Expr::Expr(int64_t literal) : text_(std::to_string(literal)) {
  auto node = std::make_shared<ExprNode>();
  node->literal = literal;
  root_ = std::move(node);
}

Checked<int64_t> Expr::Evaluate(const Scope& scope) const {
  if (!root_) return Blame(Verdict::kBadCandidate, "empty expression");
  return Evaluator(scope, text_).Value(*root_);
}

Checked<double> Expr::EvaluateReal(const Scope& scope) const {
  if (!root_) return Blame(Verdict::kBadCandidate, "empty expression");
  return Evaluator(scope, text_).Real(*root_);
}

Checked<ExprNames> Expr::Names(const Scope& scope) const {
  ExprNames names;
  if (root_) {
    if (auto done = Collect(*root_, Evaluator(scope, text_), &names); !done) {
      return tl::unexpected(done.error());
    }
  }
  return names;
}

Checked<std::string> ExpandName(std::string_view name, const Scope& scope) {
  if (name.find('{') == std::string_view::npos) return std::string(name);
  auto parsed = ParseNameTemplate(name);
  if (!parsed) return tl::unexpected(parsed.error());
  return Evaluator(scope, name).Name(*parsed);
}

}  // namespace cudaagent::candidate
