// Pointwise operators. Formulas follow PyTorch's documentation; float16 and bfloat16 are computed
// in float. Capitalised functions are defined in kernels/library/math.cu.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "rewrite/decompose.h"
#include "rewrite/float_text.h"
#include "rewrite/op_rules.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;

// Everything a rule may need to know.
struct Context {
  Builder& builder;
  const Node& node;
  NodeArgs args;
  const Coordinates& coordinates;
  bool outer;

  // The argument's element: a tensor, broadcast, or a number.
  int Raw(size_t index, const char* name) const {
    if (auto ref = args.Tensor(index, name)) {
      auto at = BroadcastCoordinates(coordinates, builder.Info(*ref).shape);
      if (!at) throw NotFusible{};
      return builder.Value(*ref, *at, outer);
    }
    if (auto number = args.Number(index, name)) return builder.Literal(*number);
    throw NotFusible{};
  }
  int Float(size_t index, const char* name) const { return builder.AsFloat(Raw(index, name)); }
  int Bool(size_t index, const char* name) const {
    int value = Raw(index, name);
    if (builder.At(value).type != ValueType::kBool) throw NotFusible{};
    return value;
  }
  int Make(const std::string& pattern, std::vector<int> operands,
           ValueType type = ValueType::kFloat) const {
    return builder.Compute(node.outputs[0].name, pattern, std::move(operands), type);
  }
  // A tensor with one element per channel (dimension 1).
  int Channel(const std::string& ref) const {
    const TensorInfo& info = builder.Info(ref);
    if (coordinates.size() < 2 || info.shape.size() != 1) throw NotFusible{};
    if (info.shape[0] != 1 && info.shape[0] != coordinates[1].extent) throw NotFusible{};
    return builder.Value(ref, {info.shape[0] == 1 ? Coordinate{} : coordinates[1]}, outer);
  }
};

using Rule = std::function<int(const Context&)>;

Rule Unary(const char* pattern) {
  return [=](const Context& c) { return c.Make(pattern, {c.Float(0, "self")}); };
}

Rule Binary(const char* pattern) {
  return [=](const Context& c) {
    return c.Make(pattern, {c.Float(0, "self"), c.Float(1, "other")});
  };
}

Rule Compare(const char* pattern) {
  return [=](const Context& c) {
    // As floats, large integers that differ may compare equal.
    const int self = c.Raw(0, "self");
    const int other = c.Raw(1, "other");
    const bool integers = c.builder.At(self).type == ValueType::kInt;
    if (integers != (c.builder.At(other).type == ValueType::kInt)) throw NotFusible{};
    if (integers) return c.Make(pattern, {self, other}, ValueType::kBool);
    return c.Make(pattern, {c.Float(0, "self"), c.Float(1, "other")}, ValueType::kBool);
  };
}

int Add(const Context& c, const char* plain, const char* scaled) {
  double alpha = c.args.NumberOr(2, "alpha", 1);
  std::vector<int> operands = {c.Float(0, "self"), c.Float(1, "other")};
  if (alpha == 1) return c.Make(plain, operands);
  operands.push_back(c.builder.Literal(alpha));
  return c.Make(scaled, operands);
}

int Div(const Context& c) {
  if (c.args.Find(2, "rounding_mode") != nullptr) throw NotFusible{};
  if (auto number = c.args.Number(1, "other"); number && c.args.Tensor(0, "self")) {
    // As PyTorch: times the reciprocal, rounded to float.
    float reciprocal = 1.0f / static_cast<float>(*number);
    return c.Make("{0} * {1}", {c.Float(0, "self"), c.builder.Literal(reciprocal)});
  }
  return c.Make("{0} / {1}", {c.Float(0, "self"), c.Float(1, "other")});
}

int Pow(const Context& c) {
  if (!c.args.Tensor(0, "self")) {
    return c.Make("powf({0}, {1})", {c.Float(0, "self"), c.Float(1, "exponent")});
  }
  const int base = c.Float(0, "self");
  if (auto exponent = c.args.Number(1, "exponent")) {
    if (*exponent == 2) return c.Make("{0} * {0}", {base});
    if (*exponent == 3) return c.Make("{0} * {0} * {0}", {base});
    if (*exponent == 1) return base;
    if (*exponent == 0.5) return c.Make("sqrtf({0})", {base});
    if (*exponent == -0.5) return c.Make("rsqrtf({0})", {base});
    if (*exponent == -1) return c.Make("1.0f / {0}", {base});
    if (*exponent == -2) return c.Make("1.0f / ({0} * {0})", {base});
  }
  return c.Make("powf({0}, {1})", {base, c.Float(1, "exponent")});
}

int Clamp(const Context& c) {
  int value = c.Float(0, "self");
  if (c.args.Find(1, "min") != nullptr) {
    value = c.Make("MaxOf({0}, {1})", {value, c.Float(1, "min")});
  }
  if (c.args.Find(2, "max") != nullptr) {
    value = c.Make("MinOf({0}, {1})", {value, c.Float(2, "max")});
  }
  return value;
}

Rule ClampTo(double low, double high) {
  return [=](const Context& c) {
    return c.Make("MinOf(MaxOf({0}, {1}), {2})",
                  {c.Float(0, "self"), c.builder.Literal(c.args.NumberOr(1, "min_val", low)),
                   c.builder.Literal(c.args.NumberOr(2, "max_val", high))});
  };
}

int Gelu(const Context& c) {
  const std::string mode = c.args.TextOr(1, "approximate", "none");
  if (mode != "none" && mode != "tanh") throw NotFusible{};
  return c.Make(mode == "tanh" ? "GeluTanh({0})" : "Gelu({0})", {c.Float(0, "self")});
}

int Elu(const Context& c) {
  const double alpha = c.args.NumberOr(1, "alpha", 1);
  const double scale = c.args.NumberOr(2, "scale", 1);
  const double input_scale = c.args.NumberOr(3, "input_scale", 1);
  return c.Make("Elu({0}, {1}, {2}, {3})",
                {c.Float(0, "self"), c.builder.Literal(alpha), c.builder.Literal(scale),
                 c.builder.Literal(input_scale)});
}

int Selu(const Context& c) {
  return c.Make("Elu({0}, {1}, {2}, 1.0f)",
                {c.Float(0, "self"), c.builder.Literal(1.6732632423543772848170429916717),
                 c.builder.Literal(1.0507009873554804934193349852946)});
}

int Softplus(const Context& c) {
  return c.Make("Softplus({0}, {1}, {2})",
                {c.Float(0, "self"), c.builder.Literal(c.args.NumberOr(1, "beta", 1)),
                 c.builder.Literal(c.args.NumberOr(2, "threshold", 20))});
}

int Where(const Context& c) {
  return c.Make("{0} ? {1} : {2}",
                {c.Bool(0, "condition"), c.Float(1, "self"), c.Float(2, "other")});
}

int MaskedFill(const Context& c) {
  return c.Make("{1} ? {2} : {0}", {c.Float(0, "self"), c.Bool(1, "mask"), c.Float(2, "value")});
}

// A conversion rounds, like the tensor it would have made.
int To(const Context& c) {
  const std::string& dtype = c.node.outputs[0].dtype;
  const int value = c.Raw(0, "self");
  const bool from_bool = c.builder.At(value).type == ValueType::kBool;
  if (dtype == "bool") {
    return from_bool ? value : c.Make("{0} != 0.0f", {c.builder.AsFloat(value)}, ValueType::kBool);
  }
  if (dtype == "float32") return c.builder.AsFloat(value);
  if (dtype == "float16")
    return c.Make("__half2float(__float2half_rn({0}))", {c.builder.AsFloat(value)});
  if (dtype == "bfloat16") {
    return c.Make("__bfloat162float(__float2bfloat16_rn({0}))", {c.builder.AsFloat(value)});
  }
  throw NotFusible{};
}

// y = (x - running_mean) * rsqrt(running_var + eps) * weight + bias, in eval mode.
int BatchNorm(const Context& c) {
  if (c.args.FlagOr(5, "training", true)) throw NotFusible{};
  auto mean = c.args.Tensor(3, "running_mean");
  auto variance = c.args.Tensor(4, "running_var");
  if (!mean || !variance) throw NotFusible{};
  const std::string& name = c.node.outputs[0].name;
  const int input = c.Float(0, "input");
  const int eps = c.builder.Literal(c.args.NumberOr(7, "eps", 1e-5));
  int scale = c.builder.Compute(name + "_scale", "rsqrtf({0} + {1})", {c.Channel(*variance), eps});
  if (auto weight = c.args.Tensor(1, "weight")) {
    scale = c.builder.Compute(name + "_scale", "{0} * {1}", {scale, c.Channel(*weight)});
  }
  int shift = c.builder.Compute(name + "_shift", "-{0} * {1}", {c.Channel(*mean), scale});
  if (auto bias = c.args.Tensor(2, "bias")) {
    shift = c.builder.Compute(name + "_shift", "{0} + {1}", {shift, c.Channel(*bias)});
  }
  return c.Make("{0} * {1} + {2}", {input, scale, shift});
}

int Prelu(const Context& c) {
  return c.Make("{0} > 0.0f ? {0} : {0} * {1}",
                {c.Float(0, "self"), c.Channel(c.args.Tensor(1, "weight").value())});
}

int SmoothL1(const Context& c) {
  return c.Make("SmoothL1({0} - {1}, {2})",
                {c.Float(0, "self"), c.Float(1, "target"), c.Float(2, "beta")});
}

int KlDiv(const Context& c) {
  return c.Make(
      c.args.FlagOr(2, "log_target", false) ? "expf({1}) * ({1} - {0})" : "KlDiv({0}, {1})",
      {c.Float(0, "self"), c.Float(1, "target")});
}

// Whether the class at this place is one that counts.
int IsCounted(const Context& c, int target, size_t index) {
  const auto ignored = static_cast<int64_t>(c.args.NumberOr(index, "ignore_index", -100));
  return c.Make("{0} != " + std::to_string(ignored), {target}, ValueType::kBool);
}

int Target(const Context& c, size_t index) {
  const int target = c.Raw(index, "target");
  if (c.builder.At(target).type != ValueType::kInt) throw NotFusible{};
  return target;
}

int Nll(const Context& c) {
  const std::string& name = c.node.outputs[0].name;
  const int target = Target(c, 2);
  const int counted = IsCounted(c, target, 3);
  const int index =
      c.builder.Compute(name + "_class", "{0} ? {1} : 0", {counted, target}, ValueType::kInt);
  const int score =
      c.builder.LoadAt(c.args.Tensor(1, "self").value(), 1, index, {c.coordinates.at(0)}, c.outer);
  if (!c.args.Tensor(0, "log_sum")) return c.Make("{0} ? -{1} : 0.0f", {counted, score});
  return c.Make("{0} ? {1} - {2} : 0.0f", {counted, c.Float(0, "log_sum"), score});
}

int NllCounts(const Context& c) {
  return c.Make("{0} ? 1.0f : 0.0f", {IsCounted(c, Target(c, 0), 1)});
}

// A row of the weight for each index.
int Embedding(const Context& c) {
  auto weight = c.args.Tensor(0, "weight");
  auto indices = c.args.Tensor(1, "indices");
  if (!weight || !indices || c.coordinates.empty()) throw NotFusible{};
  const Coordinates at(c.coordinates.begin(), c.coordinates.end() - 1);
  if (c.builder.Info(*indices).shape.size() != at.size()) throw NotFusible{};
  const int index = c.builder.Value(*indices, at, c.outer);
  return c.builder.LoadAt(*weight, 0, index, {c.coordinates.back()}, c.outer);
}

Rule Constant(double number) {
  return [=](const Context& c) { return c.builder.Literal(number); };
}

int BoolOf(const Context& c, const char* pattern, bool binary) {
  std::vector<int> operands = {c.Bool(0, "self")};
  if (binary) operands.push_back(c.Bool(1, "other"));
  return c.Make(pattern, operands, ValueType::kBool);
}

const std::map<std::string, Rule>& Rules() {
  static const std::map<std::string, Rule> rules = [] {
    std::map<std::string, Rule> r;
    auto add = [](const Context& c) { return Add(c, "{0} + {1}", "{0} + {2} * {1}"); };
    auto sub = [](const Context& c) { return Add(c, "{0} - {1}", "{0} - {2} * {1}"); };
    r["add"] = add;
    r["sub"] = r["subtract"] = sub;
    r["rsub"] = [](const Context& c) { return Add(c, "{1} - {0}", "{1} - {2} * {0}"); };
    r["mul"] = r["multiply"] = Binary("{0} * {1}");
    r["div"] = r["divide"] = r["true_divide"] = Div;
    r["maximum"] = r["max"] = Binary("MaxOf({0}, {1})");
    r["minimum"] = r["min"] = Binary("MinOf({0}, {1})");
    r["pow"] = Pow;
    r["neg"] = Unary("-{0}");
    r["abs"] = Unary("fabsf({0})");
    r["square"] = Unary("{0} * {0}");
    r["reciprocal"] = Unary("1.0f / {0}");
    r["sqrt"] = Unary("sqrtf({0})");
    r["rsqrt"] = Unary("rsqrtf({0})");
    r["exp"] = Unary("expf({0})");
    r["exp2"] = Unary("exp2f({0})");
    r["expm1"] = Unary("expm1f({0})");
    r["log"] = Unary("logf({0})");
    r["log2"] = Unary("log2f({0})");
    r["log10"] = Unary("log10f({0})");
    r["log1p"] = Unary("log1pf({0})");
    r["sin"] = Unary("sinf({0})");
    r["cos"] = Unary("cosf({0})");
    r["tanh"] = Unary("tanhf({0})");
    r["erf"] = Unary("erff({0})");
    r["floor"] = Unary("floorf({0})");
    r["ceil"] = Unary("ceilf({0})");
    r["trunc"] = Unary("truncf({0})");
    r["round"] = [](const Context& c) {
      if (c.args.Find(1, "decimals") != nullptr) throw NotFusible{};
      return c.Make("rintf({0})", {c.Float(0, "self")});
    };
    r["sigmoid"] = Unary("Sigmoid({0})");
    r["log_sigmoid"] = Unary("-Softplus(-{0}, 1.0f, 20.0f)");
    r["silu"] = Unary("{0} * Sigmoid({0})");
    r["mish"] = Unary("Mish({0})");
    r["relu"] = Unary("MaxOf({0}, 0.0f)");
    r["hardswish"] = Unary("{0} * MinOf(MaxOf({0} + 3.0f, 0.0f), 6.0f) * 0.16666667f");
    r["hardsigmoid"] = Unary("MinOf(MaxOf({0} + 3.0f, 0.0f), 6.0f) * 0.16666667f");
    r["selu"] = Selu;
    r["elu"] = Elu;
    r["gelu"] = Gelu;
    r["softplus"] = Softplus;
    r["relu6"] = ClampTo(0, 6);
    r["hardtanh"] = ClampTo(-1, 1);
    r["leaky_relu"] = [](const Context& c) {
      return c.Make(
          "{0} > 0.0f ? {0} : {0} * {1}",
          {c.Float(0, "self"), c.builder.Literal(c.args.NumberOr(1, "negative_slope", 0.01))});
    };
    r["clamp"] = r["clip"] = Clamp;
    r["clamp_min"] = [](const Context& c) {
      return c.Make("MaxOf({0}, {1})", {c.Float(0, "self"), c.Float(1, "min")});
    };
    r["clamp_max"] = [](const Context& c) {
      return c.Make("MinOf({0}, {1})", {c.Float(0, "self"), c.Float(1, "max")});
    };
    r["addcmul"] = [](const Context& c) {
      return c.Make("{0} + {3} * {1} * {2}",
                    {c.Float(0, "self"), c.Float(1, "tensor1"), c.Float(2, "tensor2"),
                     c.builder.Literal(c.args.NumberOr(3, "value", 1))});
    };
    r["eq"] = Compare("{0} == {1}");
    r["ne"] = Compare("{0} != {1}");
    r["lt"] = Compare("{0} < {1}");
    r["le"] = Compare("{0} <= {1}");
    r["gt"] = Compare("{0} > {1}");
    r["ge"] = Compare("{0} >= {1}");
    r["logical_not"] = r["bitwise_not"] = [](const Context& c) { return BoolOf(c, "!{0}", false); };
    r["logical_and"] =
        r["bitwise_and"] = [](const Context& c) { return BoolOf(c, "{0} && {1}", true); };
    r["logical_or"] =
        r["bitwise_or"] = [](const Context& c) { return BoolOf(c, "{0} || {1}", true); };
    r["where"] = Where;
    r["masked_fill"] = MaskedFill;
    r["to"] = To;
    r["clone"] = [](const Context& c) { return c.Raw(0, "self"); };
    r["batch_norm"] = BatchNorm;
    r["prelu"] = Prelu;
    r["add_channel_bias"] = [](const Context& c) {
      return c.Make("{0} + {1}", {c.Float(0, "self"), c.Channel(c.args.Tensor(1, "bias").value())});
    };
    auto internal = [](const char* op) { return std::string(op).substr(6); };
    r[internal(kSmoothL1)] = SmoothL1;
    r[internal(kKlDiv)] = KlDiv;
    r[internal(kNll)] = Nll;
    r[internal(kCounts)] = NllCounts;
    r["embedding"] = Embedding;
    r["zeros_like"] = Constant(0);
    r["ones_like"] = Constant(1);
    return r;
  }();
  return rules;
}

// max and min are pointwise with a tensor to compare with, reductions otherwise.
bool IsReducingOverload(const Node& node) {
  return (node.op == "aten::max" || node.op == "aten::min") && node.overload != "other";
}

}  // namespace

bool IsPointwise(const Node& node) {
  return node.op.compare(0, 6, "aten::") == 0 && node.outputs.size() == 1 && !node.returns_list &&
         !IsReducingOverload(node) && Rules().count(node.op.substr(6)) > 0;
}

int MakePointwise(Builder& builder, const Node& node, const Coordinates& coordinates, bool outer) {
  const std::string& dtype = node.outputs[0].dtype;
  if (dtype != "float32" && dtype != "float16" && dtype != "bfloat16" && dtype != "bool") {
    throw NotFusible{};
  }
  Context context{builder, node, NodeArgs(node), coordinates, outer};
  const int value = Rules().at(node.op.substr(6))(context);
  // bool + bool and its like follow rules of their own; so do integers.
  if (builder.At(value).type == ValueType::kInt) throw NotFusible{};
  if ((dtype == "bool") != (builder.At(value).type == ValueType::kBool)) throw NotFusible{};
  return value;
}

namespace {

// Which dimension of the operand each dimension of a permutation's result is; empty for others.
std::vector<size_t> PermutationOf(const Node& node, size_t rank) {
  NodeArgs args(node);
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  const auto signed_rank = static_cast<int64_t>(rank);
  auto place = [&](int64_t dim) {
    if (dim < 0) dim += signed_rank;
    if (dim < 0 || dim >= signed_rank) throw NotFusible{};
    return static_cast<size_t>(dim);
  };
  if (node.op == "aten::permute") {
    auto dims = args.Ints(1, "dims");
    if (!dims || dims->size() != rank) throw NotFusible{};
    for (size_t d = 0; d < rank; ++d) order[d] = place((*dims)[d]);
    return order;
  }
  if (node.op == "aten::transpose") {
    auto a = args.Ints(1, "dim0");
    auto b = args.Ints(2, "dim1");
    if (!a || !b || a->size() != 1 || b->size() != 1) throw NotFusible{};
    std::swap(order[place((*a)[0])], order[place((*b)[0])]);
    return order;
  }
  if (node.op == "aten::t" || node.op == "aten::numpy_T") {
    std::reverse(order.begin(), order.end());
    return order;
  }
  return {};
}

}  // namespace

bool IsReshape(const Node& node) {
  static const std::map<std::string, int> kReshapes = {
      {"aten::view", 0},    {"aten::reshape", 0},   {"aten::flatten", 0},   {"aten::unflatten", 0},
      {"aten::squeeze", 0}, {"aten::expand", 0},    {"aten::unsqueeze", 0}, {"aten::expand_as", 0},
      {"aten::permute", 0}, {"aten::transpose", 0}, {"aten::t", 0},         {"aten::numpy_T", 0}};
  return kReshapes.count(node.op) > 0 && node.outputs.size() == 1;
}

int MakeReshape(Builder& builder, const Node& node, const Coordinates& coordinates, bool outer) {
  auto ref = NodeArgs(node).Tensor(0, "self");
  if (!ref) throw NotFusible{};
  const TensorInfo& from = builder.Info(*ref);
  if (node.op == "aten::expand" || node.op == "aten::expand_as") {
    auto at = BroadcastCoordinates(coordinates, from.shape);
    if (!at) throw NotFusible{};
    return builder.Value(*ref, *at, outer);
  }
  if (const std::vector<size_t> order = PermutationOf(node, from.shape.size()); !order.empty()) {
    if (coordinates.size() != order.size()) throw NotFusible{};
    Coordinates at(order.size());
    for (size_t d = 0; d < order.size(); ++d) at[order[d]] = coordinates[d];
    return builder.Value(*ref, at, outer);
  }
  if (auto divisor = LinearDivisor(coordinates)) {
    return builder.Value(*ref, LinearCoordinates(from.shape, *divisor), outer);
  }
  // Only dimensions of extent 1 come or go: all others keep their coordinates.
  Coordinates kept;
  for (const Coordinate& coordinate : coordinates) {
    if (coordinate.extent != 1) kept.push_back(coordinate);
  }
  Coordinates at(from.shape.size());
  size_t next = 0;
  for (size_t d = 0; d < at.size(); ++d) {
    if (from.shape[d] == 1) continue;
    if (next == kept.size() || kept[next].extent != from.shape[d]) throw NotFusible{};
    at[d] = kept[next++];
  }
  if (next != kept.size()) throw NotFusible{};
  return builder.Value(*ref, at, outer);
}

}  // namespace cudaagent::rewrite
