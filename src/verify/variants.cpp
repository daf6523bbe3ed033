#include "verify/variants.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <random>
#include <utility>

namespace cudaagent::verify {
namespace {

template <typename Change>
std::vector<c10::IValue> ChangeFloating(const std::vector<c10::IValue>& inputs, Change change) {
  const at::NoGradGuard no_grad;
  std::vector<c10::IValue> changed;
  for (const c10::IValue& input : inputs) {
    const bool floating = input.isTensor() && input.toTensor().is_floating_point();
    changed.push_back(floating ? c10::IValue(change(input.toTensor())) : input);
  }
  return changed;
}

}  // namespace

const std::vector<Variant>& HiddenVariants() {
  static const std::vector<Variant> variants = {{"inputs x 3", 3, false},
                                                {"inputs x 0.01", 0.01, false},
                                                {"inputs x -1", -1, false},
                                                {"a few large inputs", 1, false, true},
                                                {"inputs + 100", 1, false, false, 100},
                                                {"inputs - 100", 1, false, false, -100},
                                                {"new parameters", 1, true}};
  return variants;
}

bool ShiftsTell(const std::string& graph_json) {
  const auto has = [&graph_json](const char* word) {
    return graph_json.find(word) != std::string::npos;
  };
  for (const char* word : {"matmul", "linear", "bmm", "::mm", "addmm", "conv", "norm", "einsum"}) {
    if (has(word)) return false;
  }
  return has("softmax") || has("logsumexp") || has("cross_entropy");
}

std::vector<c10::IValue> ScaleInputs(const std::vector<c10::IValue>& inputs, double factor) {
  return ChangeFloating(inputs, [factor](const at::Tensor& tensor) { return tensor.mul(factor); });
}

std::vector<c10::IValue> ShiftInputs(const std::vector<c10::IValue>& inputs, double shift) {
  return ChangeFloating(inputs, [shift](const at::Tensor& tensor) { return tensor.add(shift); });
}

std::vector<c10::IValue> WithOutliers(const std::vector<c10::IValue>& inputs, uint64_t seed) {
  constexpr int64_t kMost = 128, kLeastFactor = 16;
  const at::NoGradGuard no_grad;
  std::mt19937_64 random(seed);
  std::vector<c10::IValue> changed;
  for (const c10::IValue& input : inputs) {
    const bool floating =
        input.isTensor() && input.toTensor().is_floating_point() && input.toTensor().numel() > 0;
    if (!floating) {
      changed.push_back(input);
      continue;
    }
    const at::Tensor tensor = input.toTensor().clone(at::MemoryFormat::Contiguous);
    std::uniform_int_distribution<int64_t> place(0, tensor.numel() - 1);
    const int64_t count = std::clamp<int64_t>(tensor.numel() / 8, 1, kMost);
    std::vector<int64_t> places(count);
    for (int64_t& each : places) each = place(random);
    const at::Tensor index = at::tensor(places, at::kLong).to(tensor.device());
    const at::Tensor flat = tensor.view({-1});
    const double factor = static_cast<double>(std::max(kLeastFactor, tensor.numel() / count));
    flat.index_copy_(0, index, flat.index_select(0, index).mul(factor));
    changed.emplace_back(tensor);
  }
  return changed;
}

Result<NewParameters> NewParameters::Draw(uint64_t seed, reference::Reference& reference,
                                          device::Bindings& bindings) {
  if (auto drawn = reference.RedrawParameters(seed); !drawn) {
    return tl::unexpected<Error>(drawn.error());
  }
  NewParameters parameters(reference, bindings);
  parameters.CopyToCandidate();
  return parameters;
}

NewParameters::NewParameters(NewParameters&& other) noexcept
    : reference_(other.reference_), bindings_(other.bindings_) {
  other.reference_ = nullptr;
}

NewParameters::~NewParameters() {
  // Restore() is called on every path that goes on; this one is for exceptions on their way out.
  try {
    (void)Restore();
  } catch (...) {
  }
}

Result<void> NewParameters::Restore() {
  if (reference_ == nullptr) return {};
  reference::Reference& reference = *std::exchange(reference_, nullptr);
  auto restored = reference.RestoreParameters();
  if (!restored) return restored;
  reference_ = &reference;
  CopyToCandidate();
  reference_ = nullptr;
  return {};
}

void NewParameters::CopyToCandidate() {
  const at::NoGradGuard no_grad;
  for (const auto& [name, original] : reference_->parameters()) {
    auto bound = bindings_->parameters.find(name);
    if (bound != bindings_->parameters.end() && !bound->second.is_same(original)) {
      bound->second.copy_(original);
    }
  }
}

}  // namespace cudaagent::verify
