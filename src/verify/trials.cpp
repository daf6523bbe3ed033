// CheckCandidate: the order of one trial is what makes it honest. No expected value exists anywhere
// while the candidate runs.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/element_errors.h"
#include "verify/same_bits.h"
#include "verify/strict.h"
#include "verify/tiers.h"
#include "verify/variants.h"
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

  // The tier outputs are compared at; "strict" asks for more than this, never for less.
  std::string tier() const { return options.tier == "strict" ? "verified" : options.tier; }
};

// One trial: fresh inputs as generated, or a hidden variant of them.
struct Case {
  const Variant* variant = nullptr;
  bool first = false;  // the one that is also run twice and judged by the strict tier
};

bool HasFloatingInput(const ProblemInfo& info) {
  for (const TensorInfo& input : info.inputs) {
    if (input.dtype.find("float") != std::string::npos) return true;
  }
  return false;
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
  const std::vector<std::string>& free = trial.reference.info().statistics;
  const std::set<std::string> statistics(free.begin(), free.end());
  for (const auto& [name, original] : trial.reference.parameters()) {
    auto bound = trial.bindings.parameters.find(name);
    if (bound == trial.bindings.parameters.end() || bound->second.is_same(original)) continue;
    if (statistics.contains(name)) continue;
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

// Poison, candidate, guards, unchanged inputs: all before any expected value exists.
Checked<void> RunOnce(const Trial& trial, const std::vector<c10::IValue>& inputs) {
  if (auto restored = RestoreStatistics(trial.reference, &trial.bindings); !restored) {
    return Blame(Verdict::kInfraError, restored.error().message);
  }
  trial.runner.Poison();
  auto ran = trial.replay ? trial.runner.Replay() : trial.runner.Run();
  if (!ran) return ran;
  if (auto done = trial.device.Synchronize(); !done) return done;
  if (auto guards = trial.runner.CheckGuards(); !guards) return guards;
  return CheckUnchanged(trial, inputs);
}

// The same inputs once more, for the note on determinism. No memory for a copy: no note.
Checked<void> RunTwice(const Trial& trial, const std::vector<c10::IValue>& inputs,
                       CheckReport* report) {
  if (auto ran = RunOnce(trial, inputs); !ran) return ran;
  std::vector<at::Tensor> first;
  try {
    for (const at::Tensor& output : trial.runner.outputs()) first.push_back(output.clone());
  } catch (const c10::OutOfMemoryError&) {
    report->determinism = "not checked (memory)";
    return {};
  } catch (const std::bad_alloc&) {
    report->determinism = "not checked (memory)";
    return {};
  }
  if (auto ran = RunOnce(trial, inputs); !ran) return ran;
  report->determinism = "bitwise";
  for (size_t i = 0; i < first.size(); ++i) {
    const at::Tensor& second = trial.runner.outputs()[i];
    const bool same_form = first[i].sizes() == second.sizes() && first[i].dtype() == second.dtype();
    if (!same_form || !SameBits(first[i], second)) report->determinism = "within tolerance";
  }
  return {};
}

// Twice the inputs, parameters and outputs, doubled once more for what lies between them.
bool DoubleFits(const Trial& trial) {
  const ProblemInfo& info = trial.reference.info();
  int64_t bytes = 0;
  for (const auto* group : {&info.inputs, &info.parameters, &info.outputs}) {
    for (const TensorInfo& tensor : *group) bytes += tensor.bytes;
  }
  const int64_t memory = trial.device.limits().memory_bytes;
  return memory <= 0 || bytes < memory / 8;
}

// Judges trial 1 by the strict tier; a Fault only where that tier decides. `tf32`: eager's outputs
// under the policy where they are known already.
Result<Checked<void>> JudgeByStrict(const Trial& trial, const std::vector<c10::IValue>& inputs,
                                    const std::vector<at::Tensor>& expected,
                                    const std::vector<at::Tensor>& tf32, CheckReport* report) {
  const bool decides = trial.options.tier == "strict";
  const auto cannot = [&](const std::string& why) -> Result<Checked<void>> {
    if (!decides) {
      report->notes.push_back("strict: not run (" + why + ")");
      return Checked<void>();
    }
    return Fail(ErrorCode::kUsage, "Tier strict cannot decide here: " + why +
                                       " Choose another --tier, or make the problem smaller.");
  };
  if (!DoubleFits(trial)) return cannot("memory");
  auto exact = trial.reference.ForwardDouble(inputs);
  if (!exact) return cannot(exact.error().message);
  std::vector<at::Tensor> eager = tf32.empty() ? expected : tf32;
  if (tf32.empty() && trial.precision != Precision::kFp32) {
    auto rounded = trial.reference.Forward(inputs, trial.precision);
    if (!rounded) return tl::unexpected<Error>(rounded.error());
    eager = std::move(*rounded);
  }
  std::string sentence;
  report->tiers.push_back(JudgeStrict(trial.runner.outputs(), eager, *exact, &sentence));
  if (report->tiers.back().passed || !decides) return Checked<void>();
  return Checked<void>(Blame(Verdict::kWrongResult, sentence + "."));
}

// A variant that eager itself gets wrong by the tier's measure says nothing about the candidate.
// Returns why it is skipped, "" where the candidate is to blame.
std::string ExcuseOf(const Trial& trial, const std::vector<c10::IValue>& inputs,
                     const std::vector<at::Tensor>& expected) {
  if (!DoubleFits(trial)) return "";
  auto exact = trial.reference.ForwardDouble(inputs);
  if (!exact) return "";
  const double error = EagerError(expected, *exact);
  const auto tolerance = TierTolerance(trial.tier(), expected.front().scalar_type());
  if (!tolerance || error <= *tolerance) return "";
  return fmt::format("eager itself is {:.3g} from float64 there", error);
}

// Whether the candidate passes when it is run once more on the same inputs: then its results
// depend on chance. Expected values exist by now, which a verdict that is no pass can afford.
bool PassesNextTime(const Trial& trial, const std::vector<c10::IValue>& inputs,
                    const std::vector<at::Tensor>& expected, const std::vector<at::Tensor>& tf32) {
  if (!trial.device.is_gpu() || trial.device.poisoned()) return false;
  if (!RunOnce(trial, inputs)) return false;
  CheckReport scratch;
  return CompareOutputs(trial.runner.outputs(), expected, tf32, trial.tier(), &scratch).has_value();
}

// The deciding tier's word on the outputs, with TF32's allowance where that may explain a failure;
// `tf32` then holds eager's outputs under the policy.
Result<Checked<void>> CompareByTier(const Trial& trial, const std::vector<c10::IValue>& inputs,
                                    const std::vector<at::Tensor>& expected,
                                    std::vector<at::Tensor>* tf32, CheckReport* report) {
  CheckReport fresh = *report;
  auto verdict = CompareOutputs(trial.runner.outputs(), expected, {}, trial.tier(), &fresh);
  if (!verdict && Tf32MayExplain(trial, expected, fresh)) {
    auto rounded = trial.reference.Forward(inputs, trial.precision);
    if (!rounded) return tl::unexpected<Error>(rounded.error());
    *tf32 = std::move(*rounded);
    fresh = *report;
    verdict = CompareOutputs(trial.runner.outputs(), expected, *tf32, trial.tier(), &fresh);
  }
  *report = std::move(fresh);
  return verdict;
}

Result<Checked<void>> Compare(const Trial& trial, const Case& which,
                              const std::vector<c10::IValue>& inputs, CheckReport* report) {
  auto expected = trial.reference.Forward(inputs, Precision::kFp32);
  if (!expected) return tl::unexpected<Error>(expected.error());
  const auto skip = [&](const std::string& why) {
    report->skipped_variants.push_back(which.variant->name + ": " + why);
    return Checked<void>();
  };
  if (which.variant && !AllFinite(*expected)) return skip("the reference is not finite there");

  CheckReport fresh = *report;
  std::vector<at::Tensor> tf32;
  auto compared = CompareByTier(trial, inputs, *expected, &tf32, &fresh);
  if (!compared) return compared;
  const Checked<void>& verdict = *compared;
  if (!verdict && which.variant) {
    if (std::string excuse = ExcuseOf(trial, inputs, *expected); !excuse.empty()) {
      return skip(excuse);
    }
  }
  *report = std::move(fresh);
  if (!verdict && PassesNextTime(trial, inputs, *expected, tf32)) {
    return Checked<void>(Blame(
        Verdict::kNondeterministic,
        "The result depends on chance (a race, or atomics in varying order): run again on the "
        "same inputs it was right, and before: " +
            verdict.error().message));
  }
  if (verdict && which.first) return JudgeByStrict(trial, inputs, *expected, tf32, report);
  return compared;
}

Result<Checked<void>> RunOn(const Trial& trial, const Case& which,
                            const std::vector<c10::IValue>& inputs, CheckReport* report) {
  if (auto filled = FillInputs(inputs, trial.reference.info(), &trial.bindings); !filled) {
    return tl::unexpected<Error>(filled.error());
  }
  auto ran = which.first ? RunTwice(trial, inputs, report) : RunOnce(trial, inputs);
  if (!ran) return ran;
  return Compare(trial, which, inputs, report);
}

Result<Checked<void>> RunCase(const Trial& trial, const Case& which, CheckReport* report) {
  const uint64_t seed = SecretSeed();
  report->seeds.push_back(seed);
  auto inputs = trial.reference.MakeInputs(seed);
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  if (!which.variant) return RunOn(trial, which, *inputs, report);
  if (which.variant->input_scale != 1) *inputs = ScaleInputs(*inputs, which.variant->input_scale);
  if (which.variant->input_shift != 0) *inputs = ShiftInputs(*inputs, which.variant->input_shift);
  if (which.variant->outliers) *inputs = WithOutliers(*inputs, SecretSeed());
  if (!which.variant->new_parameters) return RunOn(trial, which, *inputs, report);

  auto parameters = NewParameters::Draw(SecretSeed(), trial.reference, trial.bindings);
  if (!parameters) {
    report->skipped_variants.push_back(which.variant->name + ": " + parameters.error().message);
    return Checked<void>();
  }
  Result<Checked<void>> checked = trial.runner.PrepareAgain();
  if (*checked) checked = RunOn(trial, which, *inputs, report);
  if (auto restored = parameters->Restore(); !restored) {
    return tl::unexpected<Error>(restored.error());
  }
  if (!checked || !*checked) return checked;
  return trial.runner.PrepareAgain();
}

// Model.forward's arguments as they are bound: the candidate's own buffers, in the order of `form`.
std::vector<c10::IValue> BoundInputs(const Trial& trial, const std::vector<c10::IValue>& form) {
  const ProblemInfo& info = trial.reference.info();
  std::vector<c10::IValue> inputs;
  size_t tensors = 0;
  for (const c10::IValue& argument : form) {
    inputs.push_back(argument.isTensor()
                         ? c10::IValue(trial.bindings.inputs.at(info.inputs.at(tensors++).name))
                         : argument);
  }
  return inputs;
}

Result<Checked<void>> CompareTimed(const Trial& trial, const std::vector<c10::IValue>& form,
                                   CheckReport* report) {
  const std::vector<c10::IValue> inputs = BoundInputs(trial, form);
  auto expected = trial.reference.Forward(inputs, Precision::kFp32);
  if (!expected) return tl::unexpected<Error>(expected.error());
  std::vector<at::Tensor> tf32;
  auto compared = CompareByTier(trial, inputs, *expected, &tf32, report);
  // Nothing right is left lying about.
  for (at::Tensor& tensor : tf32) tensor.zero_();
  for (at::Tensor& tensor : *expected) tensor.zero_();
  if (!compared) return compared;
  ++report->timed_checks;
  if (*compared) return compared;
  return Checked<void>(
      Blame(Verdict::kSuspectedHack,
            "Right in every check, and wrong while it was timed: " + compared->error().message));
}

// What libtorch throws while inputs are made or outputs compared is not the candidate's doing.
Result<Checked<void>> Safely(const Trial& trial,
                             const std::function<Result<Checked<void>>()>& body) {
  const at::NoGradGuard no_grad;
  try {
    return body();
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

Result<Checked<void>> RunSafely(const Trial& trial, const Case& which, CheckReport* report) {
  return Safely(trial, [&] { return RunCase(trial, which, report); });
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
    auto checked = RunSafely(trial, {nullptr, i == 1 && options.hidden_variants}, report);
    if (!checked) return checked;
    if (!*checked) {
      return Checked<void>(
          Blame(checked->error().verdict, Prefixed(checked->error().message, i, options.trials)));
    }
    ++report->passed;
  }
  if (!options.hidden_variants) return Checked<void>();
  const bool shifts_tell = ShiftsTell(reference.info().graph_json);
  for (const Variant& variant : HiddenVariants()) {
    if (!variant.new_parameters && !HasFloatingInput(reference.info())) continue;
    if (variant.new_parameters && reference.info().parameters.empty()) continue;
    if (variant.input_shift != 0 && !shifts_tell) continue;
    ++report->variants;
    const size_t skipped = report->skipped_variants.size();
    auto checked = RunSafely(trial, {&variant, false}, report);
    if (!checked) return checked;
    if (!*checked) {
      return Checked<void>(Blame(checked->error().verdict,
                                 fmt::format("All {} trials pass, but with {}: {}", options.trials,
                                             variant.name, checked->error().message)));
    }
    if (report->skipped_variants.size() == skipped) ++report->variants_passed;
  }
  return Checked<void>();
}

Result<Checked<void>> CheckReplay(device::PlanRunner& runner, device::Device& device,
                                  device::Bindings& bindings, reference::Reference& reference,
                                  Precision precision, const EvalOptions& options,
                                  CheckReport* report) {
  const Trial trial{runner, device, bindings, reference, precision, options, /*replay=*/true};
  auto checked = RunSafely(trial, {}, report);
  if (checked && !*checked) {
    return Checked<void>(
        Blame(checked->error().verdict, "Replayed as a CUDA graph: " + checked->error().message));
  }
  return checked;
}

Result<Checked<void>> CheckTimed(device::PlanRunner& runner, device::Device& device,
                                 device::Bindings& bindings, reference::Reference& reference,
                                 Precision precision, const EvalOptions& options,
                                 const std::vector<c10::IValue>& form, CheckReport* report) {
  const Trial trial{runner, device, bindings, reference, precision, options, /*replay=*/false};
  return Safely(trial, [&] { return CompareTimed(trial, form, report); });
}

}  // namespace cudaagent::verify
