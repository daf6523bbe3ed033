// The launch plan as data: what stands in a candidate's leading comment, parsed and checked for
// form. Nothing here knows shapes; src/candidate/validate.h checks a plan against a problem.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "candidate/expr.h"
#include "cudaagent/fault.h"

namespace cudaagent::candidate {

// "$name" without its "$". May hold "{expr}" pieces, substituted inside a repeat.
struct TensorRef {
  std::string name;
};

// A pointer argument: the tensor's data, `offset` elements in.
struct PointerArg {
  TensorRef tensor;
  std::optional<Expr> offset;
  bool strided = false;  // the author knows the tensor may be non-contiguous or unaligned
};

// Several tensors' pointers as one struct by value, in order.
struct PointersArg {
  std::vector<PointerArg> pointers;
};

enum class ScalarType { kI32, kI64, kU32, kU64, kF32, kF64, kF16, kBf16, kBool };

struct ScalarArg {
  ScalarType type = ScalarType::kI32;
  // Expr: of integers where the type is one (written as text or {"expr"}), else real ({"fexpr"}).
  std::variant<bool, int64_t, double, Expr> value;

  bool is_real() const {
    return type == ScalarType::kF32 || type == ScalarType::kF64 || type == ScalarType::kF16 ||
           type == ScalarType::kBf16;
  }
};

using KernelArg = std::variant<PointerArg, PointersArg, ScalarArg>;
// The pointers an argument holds, none for a scalar.
std::vector<const PointerArg*> PointersOf(const KernelArg& arg);

// "ns::name<args>" as written. `template_args` are the texts between the commas of the outermost
// angle brackets; each is a literal, a tune name or "{expr}".
struct KernelName {
  std::string text;
  std::string base;
  std::vector<std::string> template_args;
};

struct KernelStep {
  KernelName kernel;
  std::vector<Expr> grid;   // one to three
  std::vector<Expr> block;  // one to three
  std::optional<Expr> shared_bytes;
  std::vector<KernelArg> args;
  bool cooperative = false;
};

struct OpValue;
using OpList = std::vector<OpValue>;
// One argument of an op step, before its schema gives it a type.
struct OpValue {
  std::variant<std::monostate, bool, int64_t, double, std::string, TensorRef, Expr, OpList> value;
};

struct OpStep {
  std::string op;        // "aten::name", overload "" or
  std::string overload;  // what followed the dot
  std::vector<OpValue> args;
  std::vector<std::pair<std::string, OpValue>> kwargs;
  std::vector<std::optional<std::string>> out;  // names bound, nullopt = skipped
  bool out_is_list = false;                     // the op returns a tuple or Tensor[]
};

struct Step;
struct RepeatStep {
  std::string counter;
  Expr from;
  Expr count;
  std::vector<Step> steps;
};

struct Step {
  std::variant<KernelStep, OpStep, RepeatStep> what;
  std::optional<Expr> when;
  std::string where;  // "steps[3]" for messages
};

struct BufferSpec {
  std::string name;
  std::string dtype;  // "float32", ...
  std::vector<Expr> shape;
  bool zero = false;
  std::optional<Expr> when;
};

struct CompileOptions {
  std::string standard = "c++17";
  bool fast_math = false;
  int max_registers = 0;  // 0 = the compiler decides
};

struct Plan {
  int version = 1;
  std::vector<std::pair<std::string, std::vector<int64_t>>> tune;  // in order of writing
  std::map<std::string, int64_t> tuned;                            // chosen values, written back
  std::vector<Expr> require;
  std::vector<BufferSpec> buffers;
  std::vector<BufferSpec> prepared;
  std::vector<Step> prepare;
  std::vector<Step> steps;
  std::map<std::string, std::string> precision;  // "matmul"|"conv"|"rnn" -> "fp32"|"tf32"
  CompileOptions compile;

  // `tuned` where present, else the first value of each tune entry.
  std::map<std::string, int64_t> DefaultTune() const;
};

// A candidate file taken apart. `code` is the whole source (the plan is a comment to the compiler).
struct ParsedCandidate {
  Plan plan;
  std::string plan_text;
  std::string code;
};

// Every problem of form is a kBadCandidate fault whose sentence names the place and what would be
// right: no plan, invalid JSON (line), unknown field (with the nearest known one), host code, ...
Checked<ParsedCandidate> ParseCandidate(std::string_view source);

// Takes the last fenced code block that holds a plan out of an LLM's answer, or the answer itself
// where it is a candidate already; kBadCandidate where there is none or the block is not closed.
Checked<std::string> ExtractCandidate(std::string_view answer);

}  // namespace cudaagent::candidate
