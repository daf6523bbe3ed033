#include "candidate/step_checks.h"

#include <algorithm>

#include "candidate/code_scan.h"
#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

constexpr int64_t kMaxVisits = 20'000;  // beyond, only a repeat's first and last pass are checked

tl::unexpected<Fault> Bad(const std::string& where, const std::string& what) {
  return Blame(Verdict::kBadCandidate, where + ": " + what);
}

std::string At(const std::string& where, std::string_view field, size_t index) {
  return where + "." + std::string(field) + "[" + std::to_string(index) + "]";
}

bool IsDeviceValue(std::string_view name) {
  return name == "device.sms" || name == "device.smem_optin" || name == "device.l2_bytes";
}

// False where the value depends on a device or on the shape of an op's result; a fault where a name
// stands for nothing that an expression can use.
Checked<bool> AllKnown(const Expr& expr, const std::string& where, const PlanNames& names,
                       const ProblemScope& scope, bool real) {
  auto mentioned = expr.Names(scope);
  if (!mentioned) return Bad(where, mentioned.error().message);
  bool known = !mentioned->max_blocks;
  for (const std::string& name : mentioned->values) {
    if (IsDeviceValue(name)) {
      known = known && scope.Value(name).has_value();
      continue;
    }
    auto kind = names.Find(name);
    if (!kind) return Bad(where, names.Unknown(name, false) + " in " + Quote(expr.text()));
    if (*kind == NameKind::kScalar &&
        !(real ? scope.Real(name).has_value() : scope.Value(name).has_value())) {
      return Bad(where, Quote(name) + (real ? " is not a number in " : " is not an integer in ") +
                            Quote(expr.text()));
    }
  }
  for (const std::string& name : mentioned->tensors) {
    auto kind = names.Find(name);
    if (!kind) return Bad(where, names.Unknown(name, true) + " in " + Quote(expr.text()));
    known = known && scope.Tensor(name) != nullptr;
  }
  return known;
}

}  // namespace

Checked<std::optional<int64_t>> EvaluateKnown(const Expr& expr, const std::string& where,
                                              const PlanNames& names, const ProblemScope& scope) {
  auto known = AllKnown(expr, where, names, scope, /*real=*/false);
  if (!known) return tl::unexpected(known.error());
  if (!*known) return std::nullopt;
  auto value = expr.Evaluate(scope);
  if (!value) return Bad(where, value.error().message);
  return *value;
}

StepChecks::StepChecks(const ParsedCandidate& candidate, PlanNames names, ProblemScope scope)
    : names_(std::move(names)), scope_(std::move(scope)) {
  const std::string blanked = BlankComments(candidate.code);
  identifiers_ = Identifiers(blanked);
  kernels_ = GlobalFunctions(blanked);
  pastes_ = blanked.find("##") != std::string::npos;
}

Checked<void> StepChecks::Check(const std::vector<Step>& steps, bool preparing) {
  preparing_ = preparing;
  for (const std::string& name : results_) names_.Remove(name);
  results_.clear();
  names_.ForgetLater();
  RememberLater(steps);
  return CheckSteps(steps);
}

void StepChecks::RememberLater(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (const auto* op = std::get_if<OpStep>(&step.what)) {
      for (const auto& name : op->out) {
        if (name) names_.AddLater(*name, step.where);
      }
    } else if (const auto* repeat = std::get_if<RepeatStep>(&step.what)) {
      RememberLater(repeat->steps);
    }
  }
}

Checked<std::optional<int64_t>> StepChecks::Value(const Expr& expr,
                                                  const std::string& where) const {
  return EvaluateKnown(expr, where, names_, scope_);
}

Checked<void> StepChecks::CheckSteps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    ++visits_;
    if (step.when) {
      auto when = Value(*step.when, step.where + ".when");
      if (!when) return tl::unexpected(when.error());
      if (*when && **when == 0) continue;
    }
    Checked<void> ok;
    if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
      ok = CheckKernel(*kernel, step.where);
    } else if (const auto* op = std::get_if<OpStep>(&step.what)) {
      ok = CheckOp(*op, step.where);
    } else {
      ok = CheckRepeat(std::get<RepeatStep>(step.what), step.where);
    }
    if (!ok) return ok;
  }
  return {};
}

Checked<void> StepChecks::CheckKernel(const KernelStep& step, const std::string& where) {
  if (auto ok = CheckKernelName(step.kernel, where + ".kernel"); !ok) return ok;
  if (auto ok = CheckDimensions(step, where); !ok) return ok;
  for (size_t i = 0; i < step.args.size(); ++i) {
    const std::string place = At(where, "args", i);
    if (const auto* scalar = std::get_if<ScalarArg>(&step.args[i])) {
      if (auto ok = CheckScalar(*scalar, place); !ok) return ok;
    }
    for (const PointerArg* pointer : PointersOf(step.args[i])) {
      if (auto ok = CheckPointer(*pointer, place); !ok) return ok;
    }
  }
  return {};
}

Checked<void> StepChecks::CheckKernelName(const KernelName& name, const std::string& where) {
  const size_t colons = name.base.rfind("::");
  const std::string last = colons == std::string::npos ? name.base : name.base.substr(colons + 2);
  if (!identifiers_.contains(last) && !pastes_) {
    if (kernels_.empty()) return Bad(where, "the code has no __global__ function");
    return Bad(where, "the code has no kernel " + Quote(last) + Suggest(last, kernels_));
  }
  static const std::set<std::string, std::less<>> kTypes = {
      "float", "double", "int", "long", "short", "char", "bool", "unsigned", "true", "false"};
  for (const std::string& argument : name.template_args) {
    if (argument.front() == '{') {
      auto expr = Expr::Parse(std::string_view(argument).substr(1, argument.size() - 2));
      if (!expr) return Bad(where, expr.error().message);
      auto value = Value(*expr, where);
      if (!value) return tl::unexpected(value.error());
    } else if (IsIdentifier(argument) && !kTypes.contains(argument) &&
               !identifiers_.contains(argument) && !argument.starts_with("__") && !pastes_ &&
               !scope_.Value(argument)) {
      return Bad(where, "the template argument " + Quote(argument) +
                            " is no tune name and does not occur in the code");
    }
  }
  return {};
}

Checked<void> StepChecks::CheckDimensions(const KernelStep& step, const std::string& where) {
  static constexpr int64_t kGridLimits[3] = {2147483647, 65535, 65535};
  static constexpr int64_t kBlockLimits[3] = {1024, 1024, 64};
  auto check = [&](const std::vector<Expr>& list, const char* field,
                   const int64_t* limits) -> Checked<int64_t> {
    int64_t product = 1;
    for (size_t i = 0; i < list.size(); ++i) {
      auto value = Value(list[i], At(where, field, i));
      if (!value) return tl::unexpected(value.error());
      if (!*value) continue;
      if (**value < 1 || **value > limits[i]) {
        return Bad(At(where, field, i), Quote(list[i].text()) + " is " + std::to_string(**value) +
                                            "; it must be 1 to " + std::to_string(limits[i]));
      }
      // Products of grids may pass 2^63; only a block's matters, and that stays small.
      product = product > 1024 ? product : product * **value;
    }
    return product;
  };
  if (auto grid = check(step.grid, "grid", kGridLimits); !grid) return tl::unexpected(grid.error());
  auto threads = check(step.block, "block", kBlockLimits);
  if (!threads) return tl::unexpected(threads.error());
  if (*threads > 1024) {
    return Bad(where + ".block", "more than 1024 threads in a block; use at most 1024");
  }
  if (step.shared_bytes) {
    auto bytes = Value(*step.shared_bytes, where + ".shared_bytes");
    if (!bytes) return tl::unexpected(bytes.error());
    if (*bytes && (**bytes < 0 || **bytes > 1 << 20)) {
      return Bad(where + ".shared_bytes", Quote(step.shared_bytes->text()) + " is " +
                                              std::to_string(**bytes) +
                                              "; no device has that much shared memory");
    }
  }
  return {};
}

Checked<std::pair<std::string, NameKind>> StepChecks::Resolve(const TensorRef& ref,
                                                              const std::string& where) {
  auto name = ExpandName(ref.name, scope_);
  if (!name) return Bad(where, name.error().message);
  auto kind = names_.Find(*name);
  if (!kind) return Bad(where, names_.Unknown(*name, true));
  if (preparing_ &&
      (*kind == NameKind::kInput || *kind == NameKind::kOutput || *kind == NameKind::kScalar)) {
    return Bad(where, Quote("$" + *name) + " is " + std::string(Describe(*kind)) +
                          "; prepare steps see parameters, constants and prepared values only");
  }
  return std::pair(*name, *kind);
}

Checked<void> StepChecks::CheckPointer(const PointerArg& arg, const std::string& where) {
  auto found = Resolve(arg.tensor, where);
  if (!found) return tl::unexpected(found.error());
  const auto& [name, kind] = *found;
  if (!IsTensor(kind)) {
    return Bad(where, Quote("$" + name) + " is " + std::string(Describe(kind)) +
                          ", not a tensor; pass a typed scalar such as {\"i32\": " + Quote(name) +
                          "} or {\"f32\": {\"fexpr\": " + Quote(name) + "}}");
  }
  if (kind == NameKind::kOutput || (preparing_ && kind == NameKind::kPrepared)) {
    written_.insert(name);
  }
  const TensorInfo* info = scope_.Tensor(name);
  if (info && !info->contiguous && !arg.strided) {
    return Bad(where, Quote("$" + name) + " is not contiguous; write {\"ptr\": \"$" + name +
                          "\", \"strided\": true} and index by its strides");
  }
  if (!arg.offset) return {};
  auto offset = Value(*arg.offset, where + ".offset");
  if (!offset) return tl::unexpected(offset.error());
  if (*offset && info && (**offset < 0 || **offset >= std::max<int64_t>(1, info->numel()))) {
    return Bad(where + ".offset", std::to_string(**offset) + " is outside the " +
                                      std::to_string(info->numel()) + " elements of " +
                                      Quote("$" + name));
  }
  return {};
}

Checked<void> StepChecks::CheckScalar(const ScalarArg& arg, const std::string& where) {
  const auto* expr = std::get_if<Expr>(&arg.value);
  if (!expr) return {};
  if (arg.is_real()) {
    auto known = AllKnown(*expr, where, names_, scope_, /*real=*/true);
    if (!known || !*known) return known.map([](bool) {});
    auto value = expr->EvaluateReal(scope_);
    return value ? Checked<void>() : Bad(where, value.error().message);
  }
  auto value = Value(*expr, where);
  if (!value) return tl::unexpected(value.error());
  if (*value && !FitsScalar(arg.type, **value)) {
    return Bad(where, Quote(expr->text()) + " is " + std::to_string(**value) +
                          ", which does not fit in " + std::string(ScalarTypeName(arg.type)));
  }
  return {};
}

Checked<void> StepChecks::CheckOp(const OpStep& step, const std::string& where) {
  const bool in_place = step.op.ends_with('_') && !step.op.ends_with("__");
  for (size_t i = 0; i < step.args.size(); ++i) {
    const std::string place = At(where, "args", i);
    if (auto ok = CheckOpValue(step.args[i], place); !ok) return ok;
    if (in_place && i == 0) {
      if (auto ok = CheckMutated(step.args[i], step.op, place); !ok) return ok;
    }
  }
  for (const auto& [key, value] : step.kwargs) {
    const std::string place = where + ".kwargs." + key;
    if (auto ok = CheckOpValue(value, place); !ok) return ok;
    if (key.starts_with("out") || (in_place && key == "self")) {
      if (auto ok = CheckMutated(value, step.op, place); !ok) return ok;
    }
  }
  for (size_t i = 0; i < step.out.size(); ++i) {
    if (!step.out[i]) continue;
    const std::string place = step.out_is_list ? At(where, "out", i) : where + ".out";
    auto name = ExpandName(*step.out[i], scope_);
    if (!name) return Bad(place, name.error().message);
    if (auto ok = Bind(*name, place); !ok) return ok;
  }
  return {};
}

Checked<void> StepChecks::CheckOpValue(const OpValue& value, const std::string& where) {
  if (const auto* ref = std::get_if<TensorRef>(&value.value)) {
    auto found = Resolve(*ref, where);
    if (!found) return tl::unexpected(found.error());
    if (!IsTensor(found->second) && found->second != NameKind::kScalar) {
      return Bad(where, Quote("$" + found->first) + " is " + std::string(Describe(found->second)) +
                            "; write {\"expr\": " + Quote(found->first) + "}");
    }
  } else if (const auto* expr = std::get_if<Expr>(&value.value)) {
    auto number = Value(*expr, where);
    if (!number) return tl::unexpected(number.error());
  } else if (const auto* list = std::get_if<OpList>(&value.value)) {
    for (size_t i = 0; i < list->size(); ++i) {
      auto ok = CheckOpValue((*list)[i], where + "[" + std::to_string(i) + "]");
      if (!ok) return ok;
    }
  }
  return {};
}

// An argument the op writes: an output, a buffer or a result, nothing that is only lent.
Checked<void> StepChecks::CheckMutated(const OpValue& value, const std::string& op,
                                       const std::string& where) {
  const auto* ref = std::get_if<TensorRef>(&value.value);
  if (!ref) return {};
  auto found = Resolve(*ref, where);
  if (!found) return tl::unexpected(found.error());
  const auto& [name, kind] = *found;
  if (kind == NameKind::kInput || kind == NameKind::kParameter || kind == NameKind::kConstant ||
      (kind == NameKind::kPrepared && !preparing_)) {
    return Bad(where, Quote(op) + " writes " + Quote("$" + name) + ", which is " +
                          std::string(Describe(kind)) + " and must stay as it is");
  }
  written_.insert(name);
  return {};
}

Checked<void> StepChecks::Bind(const std::string& name, const std::string& where) {
  auto kind = names_.Find(name);
  if (kind && preparing_ ? *kind == NameKind::kPrepared : kind && *kind == NameKind::kOutput) {
    written_.insert(name);
    return {};
  }
  if (auto ok = names_.Add(name, NameKind::kResult, where); !ok) return ok;
  results_.insert(name);
  return {};
}

Checked<void> StepChecks::CheckRepeat(const RepeatStep& step, const std::string& where) {
  if (auto ok = names_.Add(step.counter, NameKind::kCounter, where + ".repeat"); !ok) return ok;
  auto from = Value(step.from, where + ".from");
  if (!from) return tl::unexpected(from.error());
  auto count = Value(step.count, where + ".count");
  if (!count) return tl::unexpected(count.error());
  const int64_t first = from->value_or(0);
  const int64_t passes = count->value_or(1);
  int64_t last = 0;
  if (passes < 0 || passes > 1'000'000 || __builtin_add_overflow(first, passes - 1, &last)) {
    return Bad(where + ".count", Quote(step.count.text()) + " is " + std::to_string(passes) +
                                     "; it must be 0 to 1000000");
  }
  for (int64_t pass = 0; pass < passes; ++pass) {
    if (visits_ > kMaxVisits && pass > 0 && pass + 1 < passes) pass = passes - 1;
    ++visits_;
    scope_.SetValue(step.counter, first + pass);
    if (auto ok = CheckSteps(step.steps); !ok) return ok;
  }
  names_.Remove(step.counter);
  return {};
}

}  // namespace cudaagent::candidate
