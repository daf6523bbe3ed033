// What the expressions of a plan see.
#include <array>
#include <charconv>
#include <utility>

#include "candidate/spelling.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;

std::optional<int64_t> IntegerScalar(const std::string& json) {
  if (json == "true") return 1;
  if (json == "false") return 0;
  auto literal = Expr::Parse(json);  // a float such as "3.14" is no expression
  if (!literal) return std::nullopt;
  struct Nothing : Scope {
    std::optional<int64_t> Value(std::string_view) const override { return std::nullopt; }
    const TensorInfo* Tensor(std::string_view) const override { return nullptr; }
  };
  auto value = literal->Evaluate(Nothing());
  return value ? std::optional(*value) : std::nullopt;
}

// A float as JSON writes it; "inf" and its like are texts there and no numbers here.
std::optional<double> RealScalar(const std::string& json) {
  double value = 0;
  const auto [end, status] = std::from_chars(json.data(), json.data() + json.size(), value);
  if (status != std::errc() || end != json.data() + json.size()) return std::nullopt;
  return value;
}

bool MentionsUnknownSize(const Expr& expr, const Scope& scope) {
  auto names = expr.Names(scope);
  if (!names) return false;
  if (names->max_blocks) return true;
  for (const std::string& name : names->values) {
    if (name.starts_with("device.") && !scope.Value(name)) return true;
  }
  return false;
}

// Nothing where a size depends on a device that is not known here.
Checked<std::optional<TensorInfo>> BufferInfo(const BufferSpec& spec, const std::string& where,
                                              const Scope& scope) {
  TensorInfo info;
  info.name = spec.name;
  info.dtype = spec.dtype;
  int64_t numel = 1;
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    const std::string place = where + ".shape[" + std::to_string(i) + "]: ";
    if (MentionsUnknownSize(spec.shape[i], scope)) return std::nullopt;
    auto extent = spec.shape[i].Evaluate(scope);
    if (!extent) {
      return Blame(Verdict::kBadCandidate,
                   place + extent.error().message +
                       "; shapes use sizes of inputs, parameters and constants, and tune names");
    }
    if (*extent < 0) {
      return Blame(Verdict::kBadCandidate, place + Quote(spec.shape[i].text()) + " is " +
                                               std::to_string(*extent) + ", a size is 0 or more");
    }
    info.shape.push_back(*extent);
    if (__builtin_mul_overflow(numel, *extent, &numel) || numel > kMaxElements) {
      return Blame(Verdict::kBadCandidate, where + ": more than 2^40 elements");
    }
  }
  info.strides.resize(info.shape.size());
  int64_t stride = 1;
  for (size_t i = info.shape.size(); i-- > 0;) {
    info.strides[i] = stride;
    stride *= std::max<int64_t>(1, info.shape[i]);
  }
  info.bytes = numel * DtypeBytes(spec.dtype);
  return info;
}

}  // namespace

ProblemScope::ProblemScope(const ProblemInfo& problem, std::map<std::string, int64_t> values) {
  for (const TensorInfo& each : problem.outputs) tensors_[each.name] = each;
  for (const TensorInfo& each : problem.constants) tensors_[each.name] = each;
  for (const TensorInfo& each : problem.parameters) {
    tensors_[each.name] = each;
    tensors_["param:" + each.name] = each;
  }
  for (const TensorInfo& each : problem.inputs) tensors_[each.name] = each;
  for (const ScalarInput& each : problem.scalars) {
    if (auto value = IntegerScalar(each.value)) {
      values_[each.name] = *value;
    } else if (auto real = RealScalar(each.value)) {
      reals_[each.name] = *real;
    }
  }
  for (const auto& [name, value] : values) values_[name] = value;
}

std::optional<int64_t> ProblemScope::Value(std::string_view name) const {
  auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

const TensorInfo* ProblemScope::Tensor(std::string_view name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::optional<double> ProblemScope::Real(std::string_view name) const {
  if (auto found = reals_.find(name); found != reals_.end()) return found->second;
  return Scope::Real(name);
}

Checked<std::optional<int64_t>> ProblemScope::MaxBlocks(const std::string& instance,
                                                        int64_t threads,
                                                        int64_t shared_bytes) const {
  if (!occupancy_) return std::nullopt;
  auto blocks = occupancy_(instance, threads, shared_bytes);
  if (!blocks) return tl::unexpected(blocks.error());
  return std::optional(*blocks);
}

void ProblemScope::SetValue(const std::string& name, int64_t value) { values_[name] = value; }

void ProblemScope::SetTensor(const std::string& name, TensorInfo info) {
  tensors_[name] = std::move(info);
}

bool LeftOut(const BufferSpec& spec, const Scope& scope) {
  const auto when = spec.when ? spec.when->Evaluate(scope) : Checked<int64_t>(1);
  return when && *when == 0;
}

int64_t DtypeBytes(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 15> kBytes = {
      {{"float32", 4},
       {"float16", 2},
       {"bfloat16", 2},
       {"float64", 8},
       {"int8", 1},
       {"uint8", 1},
       {"int16", 2},
       {"uint16", 2},
       {"int32", 4},
       {"uint32", 4},
       {"int64", 8},
       {"uint64", 8},
       {"bool", 1},
       {"float8_e4m3fn", 1},
       {"float8_e5m2", 1}}};
  for (const auto& [name, bytes] : kBytes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

Checked<ProblemScope> PlanScope(const Plan& plan, const ProblemInfo& problem,
                                std::map<std::string, int64_t> more) {
  for (const auto& [name, value] : plan.DefaultTune()) more[name] = value;
  ProblemScope scope(problem, std::move(more));
  // Shapes see the problem only, not each other.
  const ProblemScope sizes = scope;
  for (const auto& [list, field] :
       {std::pair(&plan.buffers, "buffers."), std::pair(&plan.prepared, "prepared.")}) {
    for (const BufferSpec& spec : *list) {
      if (LeftOut(spec, sizes)) continue;
      auto info = BufferInfo(spec, field + spec.name, sizes);
      if (!info) return tl::unexpected(info.error());
      if (*info) scope.SetTensor(spec.name, std::move(**info));
    }
  }
  return scope;
}

}  // namespace cudaagent::candidate
