#include "verify/probes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <functional>
#include <utility>
#include <vector>

#include "verify/element_errors.h"
#include "verify/variants.h"
#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

using Tensors = std::vector<at::Tensor>;

struct Probe {
  std::string clause;
  // Its outputs for one case; empty where it has none to offer.
  std::function<Tensors(const std::vector<c10::IValue>& inputs, const Tensors& expected)> answer;
};

// What one constant would have to be, per output: the mean, or the first element of integers.
std::vector<at::Scalar> Constants(const Tensors& expected) {
  std::vector<at::Scalar> constants;
  for (const at::Tensor& tensor : expected) {
    if (tensor.numel() == 0) {
      constants.emplace_back(0);
    } else if (tensor.is_floating_point()) {
      constants.emplace_back(tensor.mean(at::kDouble).item<double>());
    } else {
      constants.push_back(tensor.flatten().select(0, 0).item());
    }
  }
  return constants;
}

Tensors Filled(const Tensors& like, const std::vector<at::Scalar>& constants) {
  Tensors filled;
  for (size_t i = 0; i < like.size(); ++i) {
    filled.push_back(at::full_like(like[i], constants[i]));
  }
  return filled;
}

// `blind`: the outputs for other inputs, under the parameters of the case at hand.
std::vector<Probe> Probes(const ProblemInfo& info, const Tensors& base, const Tensors* blind) {
  std::vector<Probe> probes;
  const std::vector<at::Scalar> zeros(base.size(), at::Scalar(0));
  probes.push_back({"zeros pass for the result",
                    [zeros](const auto&, const Tensors& like) { return Filled(like, zeros); }});
  probes.push_back({"one constant passes for the result",
                    [constants = Constants(base)](const auto&, const Tensors& like) {
                      return Filled(like, constants);
                    }});
  for (size_t i = 0; base.size() == 1 && i < info.inputs.size(); ++i) {
    probes.push_back({"a copy of input " + info.inputs[i].name + " passes for the result",
                      [i](const std::vector<c10::IValue>& inputs, const Tensors& like) {
                        size_t next = 0;
                        for (const c10::IValue& input : inputs) {
                          if (!input.isTensor() || next++ != i) continue;
                          const at::Tensor& tensor = input.toTensor();
                          const bool fits = tensor.sizes() == like[0].sizes() &&
                                            tensor.scalar_type() == like[0].scalar_type();
                          return fits ? Tensors{tensor} : Tensors{};
                        }
                        return Tensors{};
                      }});
  }
  probes.push_back({"the result for other inputs passes: it does not depend on them",
                    [blind](const auto&, const Tensors&) { return *blind; }});
  return probes;
}

class Prober {
 public:
  Prober(reference::Reference& reference, std::string tier)
      : reference_(reference), tier_(std::move(tier)) {}

  Result<std::string> Find() {
    auto inputs = reference_.MakeInputs(SecretSeed());
    if (!inputs) return tl::unexpected<Error>(inputs.error());
    auto other = reference_.MakeInputs(SecretSeed());
    if (!other) return tl::unexpected<Error>(other.error());
    auto expected = reference_.Forward(*inputs, Precision::kFp32);
    if (!expected) return tl::unexpected<Error>(expected.error());
    if (!AllFinite(*expected)) return std::string();
    auto blind = reference_.Forward(*other, Precision::kFp32);
    if (!blind) return tl::unexpected<Error>(blind.error());

    blind_ = std::move(*blind);
    probes_ = Probes(reference_.info(), *expected, &blind_);
    Keep(*inputs, *expected);
    for (const Variant& variant : HiddenVariants()) {
      if (variant.input_shift != 0) continue;
      if (probes_.empty()) break;
      if (auto done = Narrow(variant, *inputs, *other); !done) {
        return tl::unexpected<Error>(done.error());
      }
    }
    return probes_.empty() ? std::string() : probes_.front().clause;
  }

 private:
  // Only the probes that pass this case go on.
  void Keep(const std::vector<c10::IValue>& inputs, const Tensors& expected) {
    std::erase_if(probes_, [&](const Probe& probe) {
      const Tensors got = probe.answer(inputs, expected);
      CheckReport scratch;
      return got.empty() || !CompareOutputs(got, expected, {}, tier_, &scratch);
    });
  }

  Result<void> Narrow(const Variant& variant, const std::vector<c10::IValue>& inputs,
                      const std::vector<c10::IValue>& other) {
    if (variant.outliers) return NarrowOn(WithOutliers(inputs, SecretSeed()));
    if (!variant.new_parameters) return NarrowOn(ScaleInputs(inputs, variant.input_scale));
    if (reference_.info().parameters.empty()) return {};
    device::Bindings nobody;
    auto parameters = NewParameters::Draw(SecretSeed(), reference_, nobody);
    if (!parameters) return {};  // no memory: this case cannot be tried
    Result<void> done = NarrowBlind(inputs, other);
    auto restored = parameters->Restore();
    return restored ? done : restored;
  }

  Result<void> NarrowOn(const std::vector<c10::IValue>& inputs) {
    auto expected = reference_.Forward(inputs, Precision::kFp32);
    if (!expected) return tl::unexpected<Error>(expected.error());
    if (AllFinite(*expected)) Keep(inputs, *expected);
    return {};
  }

  Result<void> NarrowBlind(const std::vector<c10::IValue>& inputs,
                           const std::vector<c10::IValue>& other) {
    auto blind = reference_.Forward(other, Precision::kFp32);
    if (!blind) return tl::unexpected<Error>(blind.error());
    blind_ = std::move(*blind);
    return NarrowOn(inputs);
  }

  reference::Reference& reference_;
  std::string tier_;
  Tensors blind_;
  std::vector<Probe> probes_;
};

}  // namespace

Result<std::string> FindDegenerate(reference::Reference& reference, const std::string& tier) {
  const at::NoGradGuard no_grad;
  try {
    return Prober(reference, tier == "strict" ? "verified" : tier).Find();
  } catch (const c10::OutOfMemoryError&) {
    return Fail(ErrorCode::kEnvironment, "the device's memory is too small for it");
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kEnvironment, "memory is too small for it");
  }
}

}  // namespace cudaagent::verify
