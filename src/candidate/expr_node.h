// The syntax tree behind Expr. Private to the expression files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidate/plan.h"

namespace cudaagent::candidate {

enum class ExprKind {
  kLiteral,
  kReal,    // a literal with a fraction or an exponent; in fexpr alone
  kValue,   // a tune name, a counter, an integer input, device.sms
  kSize,    // tensor.size(operands[0])
  kStride,  // tensor.stride(operands[0])
  kNumel,   // tensor.numel
  kNegate,
  kNot,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kSelect,  // operands[0] ? operands[1] : operands[2]
  kMin,     // two or more operands
  kMax,
  kCeilDiv,
  kSqrt,       // in fexpr alone
  kRsqrt,      // 1 / sqrt
  kMaxBlocks,  // of `kernel`; operands: threads, shared bytes
};

// A name with "{expr}" pieces: text, hole, text, hole, ..., text. texts.size() == holes.size() + 1.
struct NameTemplate {
  std::vector<std::string> texts;
  std::vector<std::shared_ptr<const ExprNode>> holes;
};

struct ExprNode {
  ExprKind kind = ExprKind::kLiteral;
  int64_t literal = 0;
  double real = 0;
  KernelName kernel;
  NameTemplate name;
  std::vector<std::shared_ptr<const ExprNode>> operands;
};

}  // namespace cudaagent::candidate
