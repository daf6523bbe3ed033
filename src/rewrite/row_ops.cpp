// Reductions and what is built on them: softmax, norms.
#include <algorithm>
#include <cmath>

#include "rewrite/decompose.h"
#include "rewrite/op_rules.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;

bool OpIs(const Node& node, std::initializer_list<const char*> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const char* op) { return node.op == op; });
}

// [outer, reduced, inner] for a run of neighbouring dimensions; std::nullopt for others.
std::optional<Reduction> Split(const TensorInfo& info, std::vector<int64_t> dims) {
  const auto rank = static_cast<int64_t>(info.shape.size());
  if (rank == 0) return std::nullopt;
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  }
  for (int64_t& d : dims) {
    if (d < 0) d += rank;
    if (d < 0 || d >= rank) return std::nullopt;
  }
  std::sort(dims.begin(), dims.end());
  for (size_t k = 1; k < dims.size(); ++k) {
    if (dims[k] != dims[k - 1] + 1) return std::nullopt;
  }
  Reduction reduction;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t& part = d < dims.front()  ? reduction.outer
                    : d > dims.back() ? reduction.inner
                                      : reduction.reduced;
    part *= info.shape[static_cast<size_t>(d)];
  }
  return reduction;
}

std::optional<Reduction> Trailing(const TensorInfo& info, size_t count) {
  if (count == 0 || count > info.shape.size()) return std::nullopt;
  std::vector<int64_t> dims;
  for (size_t k = 0; k < count; ++k) dims.push_back(-1 - static_cast<int64_t>(k));
  return Split(info, dims);
}

bool IsSimpleReduction(const Node& node) {
  return OpIs(node, {"aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::max",
                     "aten::min", "aten::logsumexp", "aten::linalg_vector_norm", "aten::norm",
                     "aten::var", "aten::argmax", "aten::argmin"});
}

bool IsScan(const Node& node) {
  return OpIs(node, {"aten::cumsum", "aten::cumprod", kReverseCumsum});
}

bool IsPool(const Node& node) {
  return OpIs(node, {"aten::max_pool1d", "aten::max_pool2d", "aten::max_pool3d", "aten::avg_pool1d",
                     "aten::avg_pool2d", "aten::avg_pool3d"});
}

bool IsSoftmax(const Node& node) {
  return OpIs(node, {"aten::softmax", "aten::log_softmax", "aten::_softmax", "aten::_log_softmax"});
}

std::vector<int64_t> ReducedDims(const Node& node) {
  NodeArgs args(node);
  // (self, ord, dim, ...) for the norms, (self, dim, ...) for all others.
  const bool norm = OpIs(node, {"aten::linalg_vector_norm", "aten::norm"});
  return args.Ints(norm ? 2 : 1, "dim").value_or(std::vector<int64_t>{});
}

class RowRule {
 public:
  RowRule(Builder& builder, const Node& node, const std::string& ref,
          const Coordinates& coordinates, bool outer)
      : b_(builder),
        node_(node),
        args_(node),
        ref_(ref),
        coordinates_(coordinates),
        outer_(outer) {}

  int Make() {
    CheckPlace();
    operand_ = Operand();
    if (IsScan(node_)) {
      return b_.Scan(ref_, node_.op == "aten::cumprod" ? "Times" : "Plus", operand_);
    }
    if (IsPool(node_)) return Pool();
    if (IsSoftmax(node_)) return Softmax();
    if (OpIs(node_, {"aten::layer_norm", "aten::rms_norm"})) return LayerNorm();
    if (OpIs(node_, {"aten::group_norm", "aten::instance_norm"})) return GroupNorm();
    return Simple();
  }

 private:
  // A reduction is known once per row (or column, or window): where the program looks must be just
  // that. Norms, softmax and scans are looked at element by element.
  void CheckPlace() const {
    const Program& program = b_.program();
    auto divisor = LinearDivisor(coordinates_);
    const bool single = program.results() == 1;
    if (!IsSimpleReduction(node_) && !IsPool(node_)) {
      if (!divisor || *divisor != 1 || outer_) throw NotFusible{};
    } else if (program.kind == ProgramKind::kColumns && !outer_) {
      if (!IsAtColumn()) throw NotFusible{};
    } else {
      const int64_t wanted = program.kind == ProgramKind::kRows ? program.row_length : 1;
      if (!divisor || outer_ != program.has_outer()) throw NotFusible{};
      if (!single && *divisor != wanted) throw NotFusible{};
    }
  }

  // Whether the coordinates, of a space [outer, reduced, inner], are those of [outer, inner].
  bool IsAtColumn() const {
    const Program& program = b_.program();
    std::vector<int64_t> strides(coordinates_.size());
    int64_t numel = 1;
    for (size_t d = coordinates_.size(); d-- > 0;) {
      strides[d] = numel;
      numel *= coordinates_[d].extent;
    }
    if (numel != program.results()) return false;
    // Indices repeat with the space's period: a coordinate of the first dimension needs no modulus.
    for (const IndexTerm& term : OffsetTerms(coordinates_, strides)) {
      const bool in = term.div * term.mod <= program.inner && term.stride == term.div;
      const bool out =
          term.div >= program.inner * program.reduced && term.stride * program.reduced == term.div;
      if (!in && !out) return false;
    }
    return true;
  }

  // The reduced operand, element by element.
  int Operand() {
    auto ref = args_.Tensor(0, "self");
    if (!ref) throw NotFusible{};
    return b_.AsFloat(b_.Value(*ref, LinearCoordinates(b_.Info(*ref).shape, 1), false));
  }

  std::string Named(const char* what) const { return ref_ + what; }
  int64_t Count() const {
    const Program& program = b_.program();
    if (program.kind == ProgramKind::kWindows) {
      return program.window.kernel[0] * program.window.kernel[1] * program.window.kernel[2];
    }
    return program.kind == ProgramKind::kColumns ? program.reduced : program.row_length;
  }
  int Make(const std::string& pattern, std::vector<int> operands) {
    return b_.Compute(ref_, pattern, std::move(operands));
  }

  int Simple() {
    const int operand = operand_;
    if (node_.op == "aten::sum") {
      return b_.Field(ref_, b_.Reduce(Named("_sum"), ReduceKind::kSum, operand), "sum");
    }
    if (node_.op == "aten::mean") {
      int sum = b_.Field(Named("_sum"), b_.Reduce(Named("_sum"), ReduceKind::kSum, operand), "sum");
      return Make("{0} / {1}", {sum, b_.Literal(static_cast<double>(Count()))});
    }
    if (OpIs(node_, {"aten::argmax", "aten::argmin"}) ||
        (node_.outputs.size() > 1 && b_.IsUsed(node_.outputs[1].name))) {
      const bool largest = OpIs(node_, {"aten::argmax", "aten::max"});
      const int at =
          b_.Reduce(Named("_at"), largest ? ReduceKind::kArgMax : ReduceKind::kArgMin, operand);
      const bool index = node_.outputs.size() == 1 || ref_ == node_.outputs[1].name;
      return index ? b_.Field(ref_, at, "index", ValueType::kInt) : b_.Field(ref_, at, "value");
    }
    if (OpIs(node_, {"aten::amax", "aten::max"})) {
      return b_.Field(ref_, b_.Reduce(Named("_max"), ReduceKind::kMax, operand), "value");
    }
    if (OpIs(node_, {"aten::amin", "aten::min"})) {
      return b_.Field(ref_, b_.Reduce(Named("_min"), ReduceKind::kMin, operand), "value");
    }
    if (node_.op == "aten::logsumexp") {
      int pair = b_.Reduce(Named("_exps"), ReduceKind::kOnlineSoftmax, operand);
      return Make("LogSumExp({0}, {1})",
                  {b_.Field(Named("_max"), pair, "max"), b_.Field(Named("_sum"), pair, "sum")});
    }
    if (node_.op == "aten::var") return Variance(operand);
    return VectorNorm(operand);
  }

  int Pool() {
    // What precedes is computed once for every window an element is in: cheap, but not for nothing.
    constexpr int64_t kMostOverlap = 3;
    const Window& window = b_.program().window;
    const int64_t steps = window.stride[0] * window.stride[1] * window.stride[2];
    if (Count() >= kMostOverlap * steps && b_.At(operand_).kind != ProgramValue::Kind::kLoad) {
      throw NotFusible{};
    }
    if (node_.op.compare(0, 14, "aten::max_pool") == 0) {
      return b_.Field(ref_, b_.Reduce(Named("_max"), ReduceKind::kMax, operand_), "value");
    }
    int sum = b_.Field(Named("_sum"), b_.Reduce(Named("_sum"), ReduceKind::kSum, operand_), "sum");
    const double divisor = args_.NumberOr(6, "divisor_override", static_cast<double>(Count()));
    return Make("{0} / {1}", {sum, b_.Literal(divisor)});
  }

  int Variance(int operand) {
    double correction = node_.overload == "correction"      ? args_.NumberOr(2, "correction", 1)
                        : args_.FlagOr(2, "unbiased", true) ? 1.0
                                                            : 0.0;
    if (node_.overload != "correction" && node_.overload != "dim") throw NotFusible{};
    double count = static_cast<double>(Count()) - correction;
    if (count <= 0) throw NotFusible{};
    int moments = b_.Reduce(Named("_moments"), ReduceKind::kMoments, operand);
    return Make("{0} / {1}", {b_.Field(Named("_m2"), moments, "m2"), b_.Literal(count)});
  }

  int VectorNorm(int operand) {
    const double order = args_.NumberOr(1, node_.op == "aten::norm" ? "p" : "ord", 2);
    if (order == 2) {
      int square = b_.Compute(Named("_square"), "{0} * {0}", {operand});
      return Make(
          "sqrtf({0})",
          {b_.Field(Named("_sum"), b_.Reduce(Named("_sum"), ReduceKind::kSum, square), "sum")});
    }
    int size = b_.Compute(Named("_abs"), "fabsf({0})", {operand});
    if (order == 1) {
      return b_.Field(ref_, b_.Reduce(Named("_sum"), ReduceKind::kSum, size), "sum");
    }
    if (std::isinf(order)) {
      return order > 0 ? b_.Field(ref_, b_.Reduce(Named("_max"), ReduceKind::kMax, size), "value")
                       : b_.Field(ref_, b_.Reduce(Named("_min"), ReduceKind::kMin, size), "value");
    }
    throw NotFusible{};
  }

  int Softmax() {
    const int operand = operand_;
    int pair = b_.Reduce(Named("_exps"), ReduceKind::kOnlineSoftmax, operand);
    int max = b_.Field(Named("_max"), pair, "max");
    int sum = b_.Field(Named("_sum"), pair, "sum");
    if (node_.op.find("log_softmax") != std::string::npos) {
      int log_sum = b_.Compute(Named("_log_sum"), "logf({0})", {sum});
      return Make("{0} - {1} - {2}", {operand, max, log_sum});
    }
    int scale = b_.Compute(Named("_scale"), "1.0f / {0}", {sum});
    return Make("expf({0} - {1}) * {2}", {operand, max, scale});
  }

  // (x - mean) * rsqrt(variance + eps), then weight and bias at their own coordinates.
  int Normalize(double eps, bool centered, std::optional<int> weight, std::optional<int> bias) {
    const int operand = operand_;
    int value = operand;
    int squares = 0;
    if (centered) {
      int moments = b_.Reduce(Named("_moments"), ReduceKind::kMoments, operand);
      squares = b_.Field(Named("_m2"), moments, "m2");
      value = b_.Compute(Named("_centered"), "{0} - {1}",
                         {operand, b_.Field(Named("_mean"), moments, "mean")});
    } else {
      int square = b_.Compute(Named("_square"), "{0} * {0}", {operand});
      squares = b_.Field(Named("_sum"), b_.Reduce(Named("_sum"), ReduceKind::kSum, square), "sum");
    }
    int scale = b_.Compute(Named("_scale"), "rsqrtf({0} / {1} + {2})",
                           {squares, b_.Literal(static_cast<double>(Count())), b_.Literal(eps)});
    if (weight && bias) return Make("{0} * {1} * {2} + {3}", {value, scale, *weight, *bias});
    if (weight) return Make("{0} * {1} * {2}", {value, scale, *weight});
    if (bias) return Make("{0} * {1} + {2}", {value, scale, *bias});
    return Make("{0} * {1}", {value, scale});
  }

  std::optional<int> Broadcast(size_t index, const char* name) {
    auto ref = args_.Tensor(index, name);
    if (!ref) return std::nullopt;
    auto at = BroadcastCoordinates(coordinates_, b_.Info(*ref).shape);
    if (!at) throw NotFusible{};
    return b_.Value(*ref, *at, outer_);
  }

  std::optional<int> Channel(size_t index, const char* name) {
    auto ref = args_.Tensor(index, name);
    if (!ref) return std::nullopt;
    if (coordinates_.size() < 2 || b_.Info(*ref).shape.size() != 1) throw NotFusible{};
    return b_.Value(*ref, {coordinates_[1]}, outer_);
  }

  int LayerNorm() {
    std::optional<int> weight = Broadcast(2, "weight");
    if (node_.op == "aten::rms_norm") {
      // Without eps PyTorch takes the type's own epsilon.
      if (b_.Info(ref_).dtype != "float32") throw NotFusible{};
      return Normalize(args_.NumberOr(3, "eps", 1.1920928955078125e-07), false, weight, {});
    }
    return Normalize(args_.NumberOr(4, "eps", 1e-5), true, weight, Broadcast(3, "bias"));
  }

  int GroupNorm() {
    if (node_.op == "aten::group_norm") {
      return Normalize(args_.NumberOr(4, "eps", 1e-5), true, Channel(2, "weight"),
                       Channel(3, "bias"));
    }
    // instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, ...): running
    // statistics are neither read nor updated only when they are absent.
    if (args_.Find(3, "running_mean") != nullptr || args_.Find(4, "running_var") != nullptr) {
      throw NotFusible{};
    }
    return Normalize(args_.NumberOr(7, "eps", 1e-5), true, Channel(1, "weight"),
                     Channel(2, "bias"));
  }

  Builder& b_;
  const Node& node_;
  NodeArgs args_;
  std::string ref_;
  const Coordinates& coordinates_;
  bool outer_;
  int operand_ = 0;
};

// The window of a pool whose windows all lie within the padded input; std::nullopt for others.
std::optional<Window> WindowOf(const Node& node, const TensorInfo& input) {
  NodeArgs args(node);
  const bool max = node.op.compare(0, 14, "aten::max_pool") == 0;
  const auto spatial = static_cast<size_t>(node.op[14] - '0');  // both prefixes have 14 letters
  const TensorInfo& output = node.outputs[0];
  if (input.shape.size() < spatial + 1 || output.shape.size() != input.shape.size()) {
    return std::nullopt;
  }
  // max: kernel, stride, padding, dilation, ceil_mode; avg: kernel, stride, padding, ceil_mode,
  // count_include_pad, divisor_override.
  auto numbers = [&](size_t index, const char* name, std::vector<int64_t> otherwise) {
    std::vector<int64_t> list = args.Ints(index, name).value_or(std::vector<int64_t>{});
    if (list.empty()) list = std::move(otherwise);
    if (list.size() == 1) list.resize(spatial, list[0]);
    return list;
  };
  const std::vector<int64_t> kernel = numbers(1, "kernel_size", {});
  const std::vector<int64_t> stride = numbers(2, "stride", kernel);
  const std::vector<int64_t> padding = numbers(3, "padding", {0});
  const std::vector<int64_t> dilation = max ? numbers(4, "dilation", {1}) : numbers(99, "", {1});
  if (args.FlagOr(max ? 5 : 4, "ceil_mode", false)) return std::nullopt;
  Window window;
  bool padded = false;
  int64_t volume = 1;
  for (const auto* list : {&kernel, &stride, &padding, &dilation}) {
    if (list->size() != spatial) return std::nullopt;
  }
  for (size_t d = 0; d < spatial; ++d) {
    const size_t at = 3 - spatial + d;
    const size_t dim = input.shape.size() - spatial + d;
    window.in[at] = input.shape[dim];
    window.out[at] = output.shape[dim];
    window.kernel[at] = kernel[d];
    window.stride[at] = stride[d];
    window.padding[at] = padding[d];
    window.dilation[at] = dilation[d];
    padded = padded || padding[d] != 0;
    volume *= kernel[d];
    const int64_t room = input.shape[dim] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    if (kernel[d] < 1 || stride[d] < 1 || room < 0 || output.shape[dim] != room / stride[d] + 1) {
      return std::nullopt;
    }
  }
  if (!max && padded && !args.FlagOr(5, "count_include_pad", true)) return std::nullopt;
  constexpr int64_t kMaxVolume = 4096;
  return volume <= kMaxVolume ? std::optional(window) : std::nullopt;
}

}  // namespace

std::optional<Reduction> ReductionOf(const Node& node, const NormalGraph& graph) {
  NodeArgs args(node);
  auto ref = args.Tensor(0, "self");
  if (!ref || node.outputs.empty()) return std::nullopt;
  const TensorInfo& input = graph.tensors.at(*ref);
  const TensorInfo& output = node.outputs[0];
  if (IsSoftmax(node)) {
    auto dim = args.Ints(1, "dim");
    // A softmax that converts on the way is left to ATen.
    if (!dim || dim->size() != 1 || output.dtype != input.dtype) return std::nullopt;
    return Split(input, *dim);
  }
  if (OpIs(node, {"aten::layer_norm", "aten::rms_norm"})) {
    auto shape = args.Ints(1, "normalized_shape");
    return shape ? Trailing(input, shape->size()) : std::nullopt;
  }
  if (node.op == "aten::group_norm" || node.op == "aten::instance_norm") {
    if (input.shape.size() < 2 || input.numel() == 0) return std::nullopt;
    int64_t groups = input.shape[1];
    if (node.op == "aten::group_norm") {
      auto number = args.Number(1, "num_groups");
      if (!number || *number < 1) return std::nullopt;
      groups = static_cast<int64_t>(*number);
    }
    Reduction reduction;
    reduction.outer = input.shape[0] * groups;
    reduction.reduced = input.numel() / reduction.outer;
    if (reduction.outer * reduction.reduced != input.numel()) return std::nullopt;
    return reduction;
  }
  if (IsPool(node)) {
    auto window = WindowOf(node, input);
    if (!window || output.dtype != input.dtype) return std::nullopt;
    Reduction reduction;
    reduction.reduced = window->in[0] * window->in[1] * window->in[2];
    if (input.numel() == 0) return std::nullopt;
    reduction.outer = input.numel() / reduction.reduced;
    reduction.window = window;
    return reduction;
  }
  if (IsScan(node)) {
    auto dim = args.Ints(1, "dim");
    if (!dim || dim->size() != 1 || output.dtype != input.dtype) return std::nullopt;
    auto reduction = Split(input, *dim);
    if (!reduction || reduction->inner != 1) return std::nullopt;
    reduction->scan = true;
    reduction->reverse = node.op == kReverseCumsum;
    return reduction;
  }
  if (node.op == "aten::argmax" || node.op == "aten::argmin") {
    // Without dim the index is that of the flattened tensor: one row of all elements.
    auto dim = args.Ints(1, "dim");
    if (args.Find(1, "dim") != nullptr && !dim) return std::nullopt;
    constexpr int64_t kMaxIndex = int64_t{1} << 31;
    auto reduction = Split(input, dim.value_or(std::vector<int64_t>{}));
    if (input.dtype == "bool" || !reduction || reduction->reduced >= kMaxIndex) return std::nullopt;
    return reduction;
  }
  if (IsSimpleReduction(node)) {
    const bool has_dims = node.overload == "dim" || node.overload == "dim_IntList" ||
                          node.op == "aten::amax" || node.op == "aten::amin" ||
                          node.op == "aten::logsumexp" || node.op == "aten::linalg_vector_norm" ||
                          node.overload == "correction" || node.overload == "ScalarOpt_dim";
    if (!has_dims && node.overload != "default" && !node.overload.empty()) return std::nullopt;
    if (output.dtype != input.dtype || input.dtype == "bool") return std::nullopt;
    return Split(input, has_dims ? ReducedDims(node) : std::vector<int64_t>{});
  }
  return std::nullopt;
}

int MakeReduction(Builder& builder, const Node& node, const std::string& ref,
                  const Coordinates& coordinates, bool outer) {
  return RowRule(builder, node, ref, coordinates, outer).Make();
}

}  // namespace cudaagent::rewrite
