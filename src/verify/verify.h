// Is the candidate right? Fresh inputs, candidate before reference, poison, unchanged inputs,
// tiers. What is compared with what, and every formula: docs/measurement.md.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "device/plan_runner.h"
#include "reference/reference.h"

namespace cudaagent::verify {

// Compares in chunks; extra memory at most 1.1 times the outputs (or 2 MiB). Fault kWrongResult
// with the worst mismatch in `report` where the deciding tier fails; shape, dtype, NaN and Inf
// positions must match. `tf32_eager`: eager's outputs under TF32 for the error allowance of the
// tf32 policy, or empty. Tiers and largest errors are merged into what `report` holds already.
Checked<void> CompareOutputs(const std::vector<at::Tensor>& got,
                             const std::vector<at::Tensor>& expected,
                             const std::vector<at::Tensor>& tf32_eager, const std::string& tier,
                             CheckReport* report);

// `options.trials` trials as docs/measurement.md orders them. `runner` is bound to `inputs`.
// An Error is the reference's or the world's; a candidate's fault is in the Checked.
Result<Checked<void>> CheckCandidate(device::PlanRunner& runner, device::Device& device,
                                     device::Bindings& bindings, reference::Reference& reference,
                                     Precision precision, const EvalOptions& options,
                                     CheckReport* report);

// One trial more, of the captured graph: what is timed is what was checked. Same meaning.
Result<Checked<void>> CheckReplay(device::PlanRunner& runner, device::Device& device,
                                  device::Bindings& bindings, reference::Reference& reference,
                                  Precision precision, const EvalOptions& options,
                                  CheckReport* report);

// The outputs of the iteration just timed against a reference run on the inputs still bound, whose
// results are overwritten before it returns. kSuspectedHack where they are wrong: every check
// before the timing passed. `form`: any arguments of Model.forward; only their order is taken from
// it.
Result<Checked<void>> CheckTimed(device::PlanRunner& runner, device::Device& device,
                                 device::Bindings& bindings, reference::Reference& reference,
                                 Precision precision, const EvalOptions& options,
                                 const std::vector<c10::IValue>& form, CheckReport* report);

// A seed nobody can foresee: from the operating system or, within a SeedScope, the next of its
// sequence.
uint64_t SecretSeed();

// Within it the seeds of this thread follow from `key` alone: the same key gives the same inputs,
// whatever was drawn before. An empty key changes nothing.
class SeedScope {
 public:
  explicit SeedScope(const std::string& key);
  ~SeedScope();
  SeedScope(const SeedScope&) = delete;
  SeedScope& operator=(const SeedScope&) = delete;
};

// Copies arguments of Model.forward into the bound inputs, by name. An Error where their shapes,
// types or scalars are not those the problem was loaded with.
Result<void> FillInputs(const std::vector<c10::IValue>& arguments, const ProblemInfo& problem,
                        device::Bindings* bindings);

// The running statistics of a problem in train mode, the model's and the candidate's copies, are
// again what they were at loading. Enqueues; outside of what is timed.
Result<void> RestoreStatistics(reference::Reference& reference, device::Bindings* bindings);

}  // namespace cudaagent::verify
