#include "worker/session.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <cctype>
#include <new>
#include <utility>

#include "graph/graph.h"
#include "measure/measure.h"
#include "verify/probes.h"
#include "verify/verify.h"

namespace cudaagent::worker {
namespace {

const char* kTooLarge =
    "The problem does not fit in the device's memory: a candidate needs its own copy of the inputs "
    "and parameters. Make it smaller with --const.";

// The same sizes and layout; a tensor whose elements overlap becomes contiguous.
at::Tensor CopyOf(const std::string& name, const at::Tensor& original,
                  device::GuardedMemory* guards) {
  at::Tensor copy;
  if (guards) {
    const bool dense = original.is_non_overlapping_and_dense();
    const auto strides =
        dense ? original.strides().vec() : at::empty(original.sizes(), at::kMeta).strides().vec();
    copy = guards->Allocate(name, original.sizes(), strides, original.scalar_type(),
                            original.device());
  } else {
    copy = at::empty_like(original);
  }
  copy.copy_(original);
  return copy;
}

}  // namespace

Result<Session> Session::Open(const Args& args) {
  Session session(args);
  EvalOptions options;
  options.model_gpu = args.model_gpu;
  if (auto opened = session.OpenDevice(options); !opened) {
    return tl::unexpected<Error>(opened.error());
  }
  return session;
}

Result<void> Session::OpenDevice(const EvalOptions& options) {
  auto device = args_.gpu ? device::OpenGpu(args_.gpu_index) : device::OpenPtx(options);
  if (!device) return tl::unexpected<Error>(device.error());
  device_ = std::move(*device);
  device_options_ = options;
  return {};
}

Result<void> Session::Configure(const EvalOptions& options) {
  const auto guard = device::GuardNamed(options.guard);
  if (guard != guard_) {  // tensors lie where they were allocated
    bound_ = false;
    bindings_ = {};
    guard_ = guard;
  }
  if (args_.gpu || (options.model_gpu == device_options_.model_gpu &&
                    options.instruction_budget == device_options_.instruction_budget)) {
    return {};
  }
  return OpenDevice(options);
}

DeviceStamp Session::Stamp() const {
  DeviceStamp stamp = device_->stamp();
  stamp.torch_version = reference::TorchVersion();
  if (args_.gpu) {
    // A version begins with a digit; anything else says why CUPTI is not used.
    const std::string cupti = measure::CuptiStatus();
    if (!cupti.empty() && std::isdigit(static_cast<unsigned char>(cupti[0]))) {
      stamp.cupti_version = cupti;
    }
  }
  return stamp;
}

Result<void> Session::Load(const ProblemSpec& spec) {
  bound_ = false;
  bindings_ = {};
  reference_.reset();
  degenerate_.clear();
  unavoidable_bytes_ = 0;
  auto reference = reference::LoadReference(
      spec, args_.gpu ? fmt::format("cuda:{}", args_.gpu_index) : std::string("cpu"));
  if (!reference) return tl::unexpected<Error>(reference.error());
  reference_ = std::move(*reference);
  spec_ = spec;
  const ProblemInfo& problem = reference_->info();
  if (problem.graph_json.empty()) return {};
  if (const auto graph = graph::ParseGraph(problem.graph_json)) {
    unavoidable_bytes_ = graph::UnavoidableBytes(*graph, problem);
  }
  return {};
}

Result<device::Bindings*> Session::Bind() {
  const at::NoGradGuard no_grad;
  if (auto restored = reference_->RestoreStatistics(); !restored) {
    return tl::unexpected<Error>(restored.error());
  }
  try {
    if (!bound_) {
      if (auto allocated = AllocateBindings(); !allocated) {
        return tl::unexpected<Error>(allocated.error());
      }
      bound_ = true;
    } else {
      for (const auto& [name, original] : reference_->parameters()) {
        bindings_.parameters.at(name).copy_(original);
      }
    }
  } catch (const c10::OutOfMemoryError&) {
    bindings_ = {};
    return Fail(ErrorCode::kEnvironment, kTooLarge);
  } catch (const std::bad_alloc&) {
    bindings_ = {};
    return Fail(ErrorCode::kEnvironment, kTooLarge);
  } catch (const c10::Error& error) {
    bindings_ = {};
    return Fail(ErrorCode::kInternal, std::string("The candidate's inputs could not be made: ") +
                                          error.what_without_backtrace());
  }
  return &bindings_;
}

Result<std::string> Session::Degenerate(const std::string& tier) {
  if (auto known = degenerate_.find(tier); known != degenerate_.end()) return known->second;
  auto found = verify::FindDegenerate(*reference_, tier);
  if (found) degenerate_[tier] = *found;
  return found;
}

Result<void> Session::AllocateBindings() {
  auto inputs = reference_->MakeInputs(verify::SecretSeed());
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  bindings_ = {};
  bindings_.guard = guard_;
  if (args_.gpu) bindings_.guards = std::make_shared<device::GuardedMemory>(guard_);
  const ProblemInfo& problem = reference_->info();
  size_t tensors = 0, scalars = 0;
  for (const c10::IValue& input : *inputs) {
    const bool is_tensor = input.isTensor();
    if (is_tensor ? tensors == problem.inputs.size() : scalars == problem.scalars.size()) {
      return Fail(ErrorCode::kInternal,
                  "get_inputs() returned more arguments than the problem was described with.");
    }
    if (is_tensor) {
      const std::string& name = problem.inputs[tensors++].name;
      bindings_.inputs[name] = CopyOf(name, input.toTensor(), bindings_.guards.get());
    } else {
      bindings_.scalars[problem.scalars[scalars++].name] = input;
    }
  }
  for (const auto& [name, original] : reference_->parameters()) {
    bindings_.parameters[name] = CopyOf(name, original, bindings_.guards.get());
  }
  return {};
}

}  // namespace cudaagent::worker
