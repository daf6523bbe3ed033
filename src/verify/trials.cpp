// CheckCandidate: the order of one trial is what makes it honest. No expected value exists anywhere
// while the candidate runs.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

struct Trial {
  device::PlanRunner& runner;
  device::Device& device;
  device::Bindings& bindings;
  reference::Reference& reference;
  Precision precision;
  const EvalOptions& options;
  bool replay;
};

// Bit for bit, so that NaN equals itself and -0 differs from 0.
bool SameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return true;
  if (a.is_complex()) return SameBits(at::view_as_real(a), at::view_as_real(b));
  if (a.strides() != b.strides() || !a.is_non_overlapping_and_dense()) {
    // A differing layout is compared logically, one slice of the first dimension at a time.
    if (a.is_contiguous() && b.is_contiguous()) {
      return SameBits(a.view({-1}), b.view({-1}));
    }
    if (a.dim() == 0) return SameBits(a.reshape({1}), b.reshape({1}));
    for (int64_t i = 0; i < a.size(0); ++i) {
      if (!SameBits(a.select(0, i).contiguous(), b.select(0, i).contiguous())) return false;
    }
    return true;
  }
  const int64_t bytes = static_cast<int64_t>(a.numel() * a.element_size());
  // The widest integer the storage divides into: eight times fewer elements to compare than bytes.
  const bool wide = bytes % 8 == 0 && reinterpret_cast<uintptr_t>(a.data_ptr()) % 8 == 0 &&
                    reinterpret_cast<uintptr_t>(b.data_ptr()) % 8 == 0;
  const auto flat = [&](const at::Tensor& tensor) {
    const at::Tensor dense = tensor.as_strided({tensor.numel()}, {1});
    return dense.view(wide ? at::kLong : at::kByte);
  };
  const at::Tensor x = flat(a), y = flat(b);
  constexpr int64_t kChunk = 16 << 20;  // at::equal makes one byte per element
  at::Tensor differ = at::zeros({}, x.options().dtype(at::kBool));
  if (x.numel() <= kChunk) return x.equal(y);
  for (int64_t start = 0; start < x.numel(); start += kChunk) {
    const int64_t length = std::min(kChunk, x.numel() - start);
    differ.logical_or_(x.narrow(0, start, length).ne(y.narrow(0, start, length)).any());
  }
  return !differ.item<bool>();
}

Checked<void> CheckUnchanged(const Trial& trial, const std::vector<c10::IValue>& originals) {
  size_t next = 0;
  for (const c10::IValue& original : originals) {
    if (!original.isTensor()) continue;
    const std::string& name = trial.reference.info().inputs[next++].name;
    if (!SameBits(trial.bindings.inputs.at(name), original.toTensor())) {
      return Blame(Verdict::kInputMutated,
                   fmt::format("The candidate changed input {}; inputs are read-only.", name));
    }
  }
  for (const auto& [name, original] : trial.reference.parameters()) {
    auto bound = trial.bindings.parameters.find(name);
    if (bound == trial.bindings.parameters.end() || bound->second.is_same(original)) continue;
    if (!SameBits(bound->second, original)) {
      return Blame(
          Verdict::kInputMutated,
          fmt::format("The candidate changed parameter {}; parameters are read-only.", name));
    }
  }
  return {};
}

// Only float32 work can differ by TF32, only on a GPU, and only where the run's policy allows it.
bool Tf32MayExplain(const Trial& trial, const std::vector<at::Tensor>& expected,
                    const CheckReport& failed) {
  if (trial.precision == Precision::kFp32 || !trial.device.is_gpu()) return false;
  if (!failed.mismatch || !std::isfinite(failed.mismatch->rel_error)) return false;
  for (const at::Tensor& tensor : expected) {
    if (tensor.scalar_type() == at::kFloat) return true;
  }
  return false;
}

Result<Checked<void>> Compare(const Trial& trial, const std::vector<c10::IValue>& inputs,
                              CheckReport* report) {
  auto expected = trial.reference.Forward(inputs, Precision::kFp32);
  if (!expected) return tl::unexpected<Error>(expected.error());
  CheckReport first = *report;
  auto verdict = CompareOutputs(trial.runner.outputs(), *expected, {}, trial.options.tier, &first);
  if (verdict || !Tf32MayExplain(trial, *expected, first)) {
    *report = std::move(first);
    return verdict;
  }
  auto tf32 = trial.reference.Forward(inputs, trial.precision);
  if (!tf32) return tl::unexpected<Error>(tf32.error());
  return CompareOutputs(trial.runner.outputs(), *expected, *tf32, trial.options.tier, report);
}

Result<Checked<void>> RunTrial(const Trial& trial, CheckReport* report) {
  auto inputs = trial.reference.MakeInputs(SecretSeed());
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  if (auto filled = FillInputs(*inputs, trial.reference.info(), &trial.bindings); !filled) {
    return tl::unexpected<Error>(filled.error());
  }
  trial.runner.Poison();
  auto ran = trial.replay ? trial.runner.Replay() : trial.runner.Run();
  if (!ran) return ran;
  if (auto done = trial.device.Synchronize(); !done) return done;
  if (auto guards = trial.runner.CheckGuards(); !guards) return guards;
  if (auto unchanged = CheckUnchanged(trial, *inputs); !unchanged) return unchanged;
  return Compare(trial, *inputs, report);
}

// What libtorch throws while inputs are made or outputs compared is not the candidate's doing.
Result<Checked<void>> RunTrialSafely(const Trial& trial, CheckReport* report) {
  const at::NoGradGuard no_grad;
  try {
    return RunTrial(trial, report);
  } catch (const c10::OutOfMemoryError&) {
    return Fail(
        ErrorCode::kEnvironment,
        "The device's memory is too small to check this problem: inputs, outputs and the "
        "reference's outputs must fit side by side. Make the problem smaller with --const.");
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kEnvironment,
                "Memory is too small to check this problem. Make it smaller with --const.");
  } catch (const c10::Error& error) {
    if (trial.device.poisoned()) {
      return Checked<void>(Blame(Verdict::kDeviceFault, "The device failed during the check."));
    }
    return Fail(ErrorCode::kInternal,
                fmt::format("The check itself failed: {}", error.what_without_backtrace()));
  }
}

std::string Prefixed(const std::string& message, int trial, int trials) {
  return trials > 1 && trial > 1 ? fmt::format("In trial {} of {} (the earlier ones passed): {}",
                                               trial, trials, message)
                                 : message;
}

}  // namespace

Result<Checked<void>> CheckCandidate(device::PlanRunner& runner, device::Device& device,
                                     device::Bindings& bindings, reference::Reference& reference,
                                     Precision precision, const EvalOptions& options,
                                     CheckReport* report) {
  const Trial trial{runner, device, bindings, reference, precision, options, /*replay=*/false};
  report->trials = options.trials;
  for (int i = 1; i <= options.trials; ++i) {
    auto checked = RunTrialSafely(trial, report);
    if (!checked) return checked;
    if (!*checked) {
      return Checked<void>(
          Blame(checked->error().verdict, Prefixed(checked->error().message, i, options.trials)));
    }
    ++report->passed;
  }
  return Checked<void>();
}

Result<Checked<void>> CheckReplay(device::PlanRunner& runner, device::Device& device,
                                  device::Bindings& bindings, reference::Reference& reference,
                                  Precision precision, const EvalOptions& options,
                                  CheckReport* report) {
  const Trial trial{runner, device, bindings, reference, precision, options, /*replay=*/true};
  auto checked = RunTrialSafely(trial, report);
  if (checked && !*checked) {
    return Checked<void>(
        Blame(checked->error().verdict, "Replayed as a CUDA graph: " + checked->error().message));
  }
  return checked;
}

}  // namespace cudaagent::verify
