// Is the candidate right? Fresh inputs, candidate before reference, poison, unchanged inputs, tiers.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "device/plan_runner.h"
#include "reference/reference.h"

namespace cudaagent::verify {

// Compares in chunks; extra memory at most 1.1 times the outputs. Fault kWrongResult with the worst
// mismatch in `report` where the deciding tier fails; shape, dtype, NaN and Inf positions must match.
// `tf32_eager`: eager's outputs under TF32 for the error allowance of the tf32 policy, or empty.
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

}  // namespace cudaagent::verify
