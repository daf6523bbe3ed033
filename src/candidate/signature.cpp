// An argument list against a demangled signature.
#include <array>
#include <vector>

#include "candidate/arg_reader.h"
#include "candidate/spelling.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

enum class Kind { kPointer, kInteger, kFloat, kHalf, kBfloat, kBool, kOther };

struct Type {
  Kind kind = Kind::kOther;
  int bytes = 0;
};

Type Classify(std::string_view text) {
  if (text.ends_with('*') || text.ends_with('&') || text.find("(*)") != std::string_view::npos ||
      text.ends_with("* const") || text.ends_with("__restrict__")) {
    return {Kind::kPointer, 8};
  }
  struct Named {
    std::string_view name;
    Type type;
  };
  static constexpr std::array<Named, 20> kTypes = {{
      {"int", {Kind::kInteger, 4}},           {"unsigned int", {Kind::kInteger, 4}},
      {"long", {Kind::kInteger, 8}},          {"unsigned long", {Kind::kInteger, 8}},
      {"long long", {Kind::kInteger, 8}},     {"unsigned long long", {Kind::kInteger, 8}},
      {"short", {Kind::kInteger, 2}},         {"unsigned short", {Kind::kInteger, 2}},
      {"char", {Kind::kInteger, 1}},          {"signed char", {Kind::kInteger, 1}},
      {"unsigned char", {Kind::kInteger, 1}}, {"float", {Kind::kFloat, 4}},
      {"double", {Kind::kFloat, 8}},          {"bool", {Kind::kBool, 1}},
      {"__half", {Kind::kHalf, 2}},           {"half", {Kind::kHalf, 2}},
      {"_Float16", {Kind::kHalf, 2}},         {"__nv_bfloat16", {Kind::kBfloat, 2}},
      {"nv_bfloat16", {Kind::kBfloat, 2}},    {"std::bfloat16_t", {Kind::kBfloat, 2}},
  }};
  for (const Named& each : kTypes) {
    if (each.name == text) return each.type;
  }
  return {};
}

Type TypeOf(ScalarType type) {
  switch (type) {
    case ScalarType::kI32:
    case ScalarType::kU32:
      return {Kind::kInteger, 4};
    case ScalarType::kI64:
    case ScalarType::kU64:
      return {Kind::kInteger, 8};
    case ScalarType::kF32:
      return {Kind::kFloat, 4};
    case ScalarType::kF64:
      return {Kind::kFloat, 8};
    case ScalarType::kF16:
      return {Kind::kHalf, 2};
    case ScalarType::kBf16:
      return {Kind::kBfloat, 2};
    default:
      return {Kind::kBool, 1};
  }
}

// How a parameter of this type is given in a plan, or "" where no argument form fits.
std::string Form(const Type& type) {
  switch (type.kind) {
    case Kind::kPointer:
      return "\"$name\"";
    case Kind::kInteger:
      return type.bytes == 4 ? "{\"i32\": ...}" : type.bytes == 8 ? "{\"i64\": ...}" : "";
    case Kind::kFloat:
      return type.bytes == 4 ? "{\"f32\": ...}" : "{\"f64\": ...}";
    case Kind::kHalf:
      return "{\"f16\": ...}";
    case Kind::kBfloat:
      return "{\"bf16\": ...}";
    case Kind::kBool:
      return "{\"bool\": ...}";
    default:
      return "";
  }
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The types between the last pair of outermost parentheses; false where there is none.
bool ParameterTypes(std::string_view signature, std::vector<std::string_view>* types) {
  signature = Trim(signature);
  if (!signature.ends_with(')')) return false;
  int depth = 0;
  size_t open = signature.size();
  while (open > 0) {
    const char c = signature[--open];
    if (c == ')') ++depth;
    if (c == '(' && --depth == 0) break;
  }
  if (depth != 0) return false;
  std::string_view list = signature.substr(open + 1, signature.size() - open - 2);
  size_t start = 0;
  int nested = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '<' || c == '(' || c == '[') ++nested;
    if (c == '>' || c == ')' || c == ']') --nested;
    if (c == ',' && nested == 0) {
      types->push_back(Trim(list.substr(start, i - start)));
      start = i + 1;
    }
  }
  types->push_back(Trim(list.substr(start)));
  if (types->size() == 1 && (types->front().empty() || types->front() == "void")) types->clear();
  return true;
}

}  // namespace

Checked<void> CheckSignature(const KernelStep& step, const std::string& demangled) {
  std::vector<std::string_view> types;
  if (!ParameterTypes(demangled, &types)) return {};
  auto bad = [&](const std::string& what) {
    return Blame(Verdict::kBadCandidate, "kernel " + Quote(step.kernel.text) + ": " + what);
  };
  if (types.size() != step.args.size()) {
    return bad("the plan passes " + std::to_string(step.args.size()) +
               " arguments, but the kernel takes " + std::to_string(types.size()) + ": " +
               Quote(demangled, 200));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const Type want = Classify(types[i]);
    const auto* scalar = std::get_if<ScalarArg>(&step.args[i]);
    const bool pointers = std::holds_alternative<PointersArg>(step.args[i]);
    const Type given = scalar     ? TypeOf(scalar->type)
                       : pointers ? Type{Kind::kOther, 0}
                                  : Type{Kind::kPointer, 8};
    // A type this list does not know (an enum, a struct) is left to the size check of the device,
    // but no tensor is passed for it.
    if (want.kind == given.kind && want.bytes == given.bytes) continue;
    if (want.kind == Kind::kOther && scalar) continue;
    const std::string what = scalar ? "{\"" + std::string(ScalarTypeName(scalar->type)) + "\": ...}"
                             : pointers ? "{\"ptrs\": ...}"
                                        : "a tensor";
    const std::string form = Form(want);
    return bad("args[" + std::to_string(i) + "] is " + what + ", but parameter " +
               std::to_string(i + 1) + " is " + Quote(types[i]) +
               (form.empty() ? "; change the parameter's type" : "; write " + form));
  }
  return {};
}

}  // namespace cudaagent::candidate
