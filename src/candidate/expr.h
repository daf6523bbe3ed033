// Expressions of the plan over tune names, counters and sizes: integers in checked 64-bit
// arithmetic, and reals ("fexpr") in double. Grammar and meaning: docs/candidate_format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudaagent/fault.h"
#include "cudaagent/problem.h"

namespace cudaagent::candidate {

// What an expression may see. Thread-compatible.
class Scope {
 public:
  virtual ~Scope() = default;
  // Tune names, repeat counters, integer inputs, "device.sms" and its like; nullopt = unknown name.
  virtual std::optional<int64_t> Value(std::string_view name) const = 0;
  // As Value(), and non-tensor inputs that are no integers.
  virtual std::optional<double> Real(std::string_view name) const {
    const auto value = Value(name);
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
  }
  // Blocks of a kernel instance ("f<256, 2>") that the whole device holds at once; nullopt where no
  // device is known yet, a fault where the kernel cannot be launched so.
  virtual Checked<std::optional<int64_t>> MaxBlocks(const std::string& /*instance*/,
                                                    int64_t /*threads*/,
                                                    int64_t /*shared_bytes*/) const {
    return std::nullopt;
  }
  // Tensors by plan name (without "$"); nullptr = unknown name.
  virtual const TensorInfo* Tensor(std::string_view name) const = 0;
};

struct ExprNode;

// The names an expression mentions, "{expr}" pieces put in, in order of mention, repeats kept.
struct ExprNames {
  std::vector<std::string> values;
  std::vector<std::string> tensors;
  bool max_blocks = false;  // asks for max_blocks(), which only a device knows
};

// Immutable, cheap to copy.
class Expr {
 public:
  Expr() = default;
  explicit Expr(int64_t literal);
  // kBadCandidate with the column where it went wrong.
  static Checked<Expr> Parse(std::string_view text);
  // With fractions, "/" as division of reals, sqrt and rsqrt; for EvaluateReal().
  static Checked<Expr> ParseReal(std::string_view text);

  const std::string& text() const { return text_; }
  // Overflow, division by zero, an unknown name or a dimension out of range is kBadCandidate.
  Checked<int64_t> Evaluate(const Scope& scope) const;
  // Division by zero and the root of a negative number are kBadCandidate too.
  Checked<double> EvaluateReal(const Scope& scope) const;
  // Fails only where an "{expr}" piece of a name does not evaluate.
  Checked<ExprNames> Names(const Scope& scope) const;

 private:
  static Checked<Expr> ParseWith(std::string_view text, bool real);

  std::string text_;
  std::shared_ptr<const ExprNode> root_;
};

// Puts the values of "{expr}" pieces into a name: "layers.{i + 1}.weight" -> "layers.3.weight".
Checked<std::string> ExpandName(std::string_view name, const Scope& scope);

}  // namespace cudaagent::candidate
