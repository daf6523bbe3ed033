#include "device/op_call.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "candidate/op_allow_list.h"
#include "device/tensor_info.h"
#include "util/text.h"

namespace cudaagent::device {
namespace {

using c10::IValue;

std::string FirstLine(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  return util::SanitiseLog(line, 600);
}

std::string Spelled(const candidate::OpStep& step) {
  return step.overload.empty() ? step.op : step.op + "." + step.overload;
}

// A tensor argument before the call, to see whether the operator gave it another shape.
struct Written {
  std::string name;
  at::Tensor tensor;
  std::vector<int64_t> sizes;
  const void* data = nullptr;
};

class Call {
 public:
  Call(const candidate::OpStep& step, const std::string& where, OpScope& scope)
      : step_(step), where_(where), scope_(scope) {}

  Checked<std::vector<at::Tensor>> Run() {
    if (auto found = Resolve(); !found) return tl::unexpected(found.error());
    if (auto filled = FillStack(); !filled) return tl::unexpected(filled.error());
    if (auto allowed = CheckArguments(); !allowed) return tl::unexpected(allowed.error());
    try {
      const at::NoGradGuard no_grad;
      op_->callBoxed(stack_);
    } catch (...) {
      Fault fault = CurrentExceptionAsFault(where_ + ": " + Spelled(step_) + " failed",
                                            Verdict::kBadCandidate);
      if (fault.verdict == Verdict::kBadCandidate) fault.message += SchemaNote();
      return tl::unexpected(std::move(fault));
    }
    if (auto kept = CheckWritten(); !kept) return tl::unexpected(kept.error());
    return Results();
  }

 private:
  tl::unexpected<Fault> Refuse(const std::string& what) const {
    return Blame(Verdict::kBadCandidate, c10::str(where_, ": ", what, "."));
  }
  std::string SchemaNote() const { return c10::str(" Its schema: ", op_->schema(), "."); }

  Checked<void> Resolve() {
    if (!candidate::IsAllowedOp(step_.op)) {
      return Blame(Verdict::kBadCandidate,
                   c10::str(where_, ": the op \"", step_.op,
                            "\" is not on the list of ops that plans may call.", Suggestion()));
    }
    op_ = c10::Dispatcher::singleton().findSchema({step_.op, step_.overload});
    if (!op_) return NoSuchOverload();
    for (const c10::Argument& result : op_->schema().returns()) {
      const auto kind = result.type()->kind();
      const bool tensors = kind == c10::TypeKind::TensorType ||
                           (kind == c10::TypeKind::ListType &&
                            result.type()->expectRef<c10::ListType>().getElementType()->kind() ==
                                c10::TypeKind::TensorType);
      if (!tensors) return Refuse(Spelled(step_) + " does not return tensors");
    }
    return {};
  }

  // Without the namespace all names share, which would make strangers look alike.
  std::string Suggestion() const {
    constexpr std::string_view kNamespace = "aten::";
    if (!step_.op.starts_with(kNamespace)) return "";
    std::vector<std::string> names;
    for (const std::string& op : candidate::AllowedOps())
      names.push_back(op.substr(kNamespace.size()));
    const auto near = util::NearestName(step_.op.substr(kNamespace.size()), names);
    return near ? c10::str(" Did you mean \"", kNamespace, *near, "\"?") : "";
  }

  Checked<void> NoSuchOverload() const {
    std::vector<std::string> overloads;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (name.name != step_.op) continue;
      overloads.push_back(name.overload_name.empty() ? step_.op
                                                     : step_.op + "." + name.overload_name);
    }
    std::sort(overloads.begin(), overloads.end());
    if (overloads.empty()) return Refuse("this torch has no op \"" + step_.op + "\"");
    return Refuse(c10::str("there is no op \"", Spelled(step_), "\"; \"", step_.op, "\" exists as ",
                           util::Join(overloads, ", ")));
  }

  // The value the step gives to an argument, and where it stands.
  struct Given {
    const candidate::OpValue* value = nullptr;
    std::string where;
  };
  Given Find(size_t index, const c10::Argument& argument) const {
    for (const auto& [name, value] : step_.kwargs) {
      if (name == argument.name()) return {&value, where_ + ".kwargs." + name};
    }
    if (!argument.kwarg_only() && index < step_.args.size()) {
      return {&step_.args[index], c10::str(where_, ".args[", index, "]")};
    }
    return {};
  }

  Checked<void> CheckNames() const {
    const auto& arguments = op_->schema().arguments();
    size_t positional = 0;
    for (const c10::Argument& argument : arguments) positional += argument.kwarg_only() ? 0 : 1;
    if (step_.args.size() > positional) {
      return Blame(
          Verdict::kBadCandidate,
          c10::str(where_, ": ", Spelled(step_), " takes ", positional,
                   " arguments by position, \"args\" has ", step_.args.size(), ".", SchemaNote()));
    }
    for (const auto& [name, value] : step_.kwargs) {
      const auto same = [&, &key = name](const c10::Argument& a) { return a.name() == key; };
      const auto found = std::find_if(arguments.begin(), arguments.end(), same);
      if (found == arguments.end()) {
        return Blame(Verdict::kBadCandidate,
                     c10::str(where_, ": ", Spelled(step_), " has no argument \"", name, "\".",
                              SchemaNote()));
      }
      if (static_cast<size_t>(found - arguments.begin()) < step_.args.size() &&
          !found->kwarg_only()) {
        return Refuse(c10::str("the argument \"", name,
                               "\" is given twice, in \"args\" and in "
                               "\"kwargs\""));
      }
    }
    return {};
  }

  Checked<void> FillStack() {
    if (auto named = CheckNames(); !named) return named;
    const auto& arguments = op_->schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Given given = Find(i, arguments[i]);
      if (given.value == nullptr) {
        if (!arguments[i].default_value()) {
          return Blame(Verdict::kBadCandidate,
                       c10::str(where_, ": ", Spelled(step_), " needs the argument \"",
                                arguments[i].name(), "\".", SchemaNote()));
        }
        stack_.push_back(*arguments[i].default_value());
        continue;
      }
      auto value = ConvertValue(*given.value, arguments[i], given.where, scope_);
      if (!value) return tl::unexpected(value.error());
      stack_.push_back(std::move(*value));
    }
    UseRunDevice();
    return {};
  }

  // A factory without a tensor argument would make its result on the CPU.
  void UseRunDevice() {
    const auto& arguments = op_->schema().arguments();
    for (const IValue& value : stack_) {
      if (value.isTensor() || value.isTensorList()) return;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == "device" && stack_[i].isNone()) stack_[i] = scope_.device();
    }
  }

  Checked<void> CheckArguments() {
    const auto& arguments = op_->schema().arguments();
    bool updates_statistics = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string& name = arguments[i].name();
      const IValue& value = stack_[i];
      const bool on = value.isBool() && value.toBool();
      if (name == "train" && on) {
        return Refuse("\"train\": true draws random numbers, which a plan may not");
      }
      if (name == "dropout_p" && value.isDouble() && value.toDouble() != 0) {
        return Refuse("\"dropout_p\" draws random numbers, which a plan may not; it must be 0");
      }
      if (name == "pin_memory" && on) return Refuse("\"pin_memory\" must be false or left out");
      if ((name == "training" || name == "use_input_stats") && on) updates_statistics = true;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::Argument& argument = arguments[i];
      const bool statistics = updates_statistics && (argument.name() == "running_mean" ||
                                                     argument.name() == "running_var");
      const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
      // detach_ touches no data; torch.export emits it on lifted constants.
      if ((!written && !statistics) || step_.op == "aten::detach_") continue;
      if (stack_[i].isNone()) continue;
      if (!stack_[i].isTensor()) return Refuse(Spelled(step_) + " writes to a list of tensors");
      const at::Tensor tensor = stack_[i].toTensor();
      if (const std::string owner = scope_.ProtectedName(tensor); !owner.empty()) {
        return Refuse(c10::str(Spelled(step_), " writes to \"", argument.name(),
                               "\", which shares memory with ", owner,
                               "; inputs and parameters may only be read"));
      }
      written_.push_back({argument.name(), tensor, tensor.sizes().vec(), tensor.const_data_ptr()});
    }
    return {};
  }

  // An `out` argument of the wrong shape is resized by torch, which would leave the plan's memory.
  Checked<void> CheckWritten() const {
    for (const Written& each : written_) {
      if (each.tensor.sizes() == at::IntArrayRef(each.sizes) &&
          each.tensor.const_data_ptr() == each.data) {
        continue;
      }
      return Refuse(c10::str(Spelled(step_), " gives a result of shape ", each.tensor.sizes(),
                             ", but the tensor passed as \"", each.name, "\" has shape ",
                             at::IntArrayRef(each.sizes)));
    }
    return {};
  }

  Checked<std::vector<at::Tensor>> Results() const {
    if (step_.out.empty()) return std::vector<at::Tensor>{};
    std::vector<at::Tensor> tensors;
    bool list = stack_.size() > 1;
    for (const IValue& value : stack_) {
      if (value.isTensor()) {
        tensors.push_back(value.toTensor());
      } else if (value.isTensorList()) {
        for (const at::Tensor& each : value.toTensorVector()) tensors.push_back(each);
        list = true;
      }
    }
    if (list != step_.out_is_list || tensors.size() != step_.out.size()) {
      return Refuse(c10::str(
          Spelled(step_), " returns ", list ? "a list of " : "", tensors.size(),
          tensors.size() == 1 ? " tensor" : " tensors", ", \"out\" is ",
          step_.out_is_list ? c10::str("a list of ", step_.out.size()) : std::string("one name")));
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!step_.out[i]) {
        tensors[i] = at::Tensor();
      } else if (!tensors[i].defined()) {
        return Refuse(c10::str("result ", i, " of ", Spelled(step_),
                               " does not exist for these arguments; put null in its place"));
      }
    }
    return tensors;
  }

  const candidate::OpStep& step_;
  const std::string& where_;
  OpScope& scope_;
  std::optional<c10::OperatorHandle> op_;
  std::vector<IValue> stack_;
  std::vector<Written> written_;
};

}  // namespace

Checked<std::vector<at::Tensor>> CallOp(const candidate::OpStep& step, const std::string& where,
                                        OpScope& scope) {
  return Call(step, where, scope).Run();
}

Fault CurrentExceptionAsFault(const std::string& where, Verdict verdict) {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return {Verdict::kOutOfMemory, where + ": " + FirstLine(error.what_without_backtrace())};
  } catch (const c10::Error& error) {
    const std::string text = FirstLine(error.what_without_backtrace());
    // The CPU allocator has no exception of its own.
    if (text.find("not enough memory") != std::string::npos ||
        text.find("can't allocate memory") != std::string::npos) {
      return {Verdict::kOutOfMemory, where + ": " + text};
    }
    return {verdict, where + ": " + text};
  } catch (const std::bad_alloc&) {
    return {Verdict::kOutOfMemory, where + ": host memory ran out."};
  } catch (const std::exception& error) {
    return {verdict, where + ": " + FirstLine(error.what())};
  } catch (...) {
    return {verdict, where + ": an exception of unknown kind."};
  }
}

}  // namespace cudaagent::device
