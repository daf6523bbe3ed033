#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <spdlog/fmt/fmt.h>
#include <sys/random.h>

#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

std::string Text(const c10::IValue& value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

bool SameScalar(const c10::IValue& a, const c10::IValue& b) {
  return a.tagKind() == b.tagKind() && Text(a) == Text(b);
}

// A job is judged on one thread.
thread_local std::optional<std::mt19937_64> repeatable;

}  // namespace

SeedScope::SeedScope(const std::string& key) {
  if (key.empty()) return;
  std::seed_seq words(key.begin(), key.end());
  repeatable.emplace(words);
}

SeedScope::~SeedScope() { repeatable.reset(); }

uint64_t SecretSeed() {
  if (repeatable) return (*repeatable)() >> 1;
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
    std::random_device source;
    seed = (static_cast<uint64_t>(source()) << 32) | source();
  }
  return seed >> 1;  // fits int64_t, which Python's generators take
}

Result<void> FillInputs(const std::vector<c10::IValue>& arguments, const ProblemInfo& problem,
                        device::Bindings* bindings) {
  const at::NoGradGuard no_grad;
  size_t tensors = 0, scalars = 0;
  const std::string advice =
      " The problem's sizes and numbers must be the same on every call of get_inputs().";
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      if (tensors == problem.inputs.size()) {
        return Fail(ErrorCode::kUsage, "get_inputs() returned more tensors than before." + advice);
      }
      const std::string& name = problem.inputs[tensors++].name;
      auto bound = bindings->inputs.find(name);
      if (bound == bindings->inputs.end()) {
        return Fail(ErrorCode::kInternal, fmt::format("Input {} is not bound.", name));
      }
      const at::Tensor& fresh = argument.toTensor();
      if (fresh.sizes() != bound->second.sizes() || fresh.dtype() != bound->second.dtype()) {
        return Fail(
            ErrorCode::kUsage,
            fmt::format("get_inputs() made {} as {} of {} elements, before it was {} of {}.{}",
                        name, at::toString(fresh.scalar_type()), fresh.numel(),
                        at::toString(bound->second.scalar_type()), bound->second.numel(), advice));
      }
      bound->second.copy_(fresh);
    } else {
      if (scalars == problem.scalars.size()) {
        return Fail(ErrorCode::kUsage, "get_inputs() returned more scalars than before." + advice);
      }
      const std::string& name = problem.scalars[scalars++].name;
      auto bound = bindings->scalars.find(name);
      if (bound == bindings->scalars.end()) {
        return Fail(ErrorCode::kInternal, fmt::format("Input {} is not bound.", name));
      }
      if (!SameScalar(bound->second, argument)) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("get_inputs() gave {} = {}, before it was {}.{}", name,
                                Text(argument), Text(bound->second), advice));
      }
    }
  }
  if (tensors != problem.inputs.size() || scalars != problem.scalars.size()) {
    return Fail(ErrorCode::kUsage, "get_inputs() returned fewer arguments than before." + advice);
  }
  return {};
}

Result<void> RestoreStatistics(reference::Reference& reference, device::Bindings* bindings) {
  const at::NoGradGuard no_grad;
  if (auto restored = reference.RestoreStatistics(); !restored) return restored;
  std::vector<at::Tensor> copies, originals;
  for (const std::string& name : reference.info().statistics) {
    copies.push_back(bindings->parameters.at(name));
    originals.push_back(reference.parameters().at(name));
  }
  if (!copies.empty()) at::_foreach_copy_(copies, originals);
  return {};
}

}  // namespace cudaagent::verify
