// One op step: the operator looked up in the dispatcher, its values converted, called boxed.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "candidate/plan.h"
#include "cudaagent/fault.h"
#include "device/op_values.h"

namespace cudaagent::device {

// Calls the operator without gradients. Returns its tensors, one per name of `step.out` (undefined
// where the name is null); empty where the step names none. kBadCandidate: an operator that is
// unknown, not allowed, or refuses its arguments; kOutOfMemory where memory ran out.
// On a GPU the sentence of a refused call may be an earlier kernel's doing: synchronise first.
Checked<std::vector<at::Tensor>> CallOp(const candidate::OpStep& step, const std::string& where,
                                        OpScope& scope);

// A library's exception as a fault: kOutOfMemory where memory ran out, else `verdict`. `where`
// opens the sentence. Call inside a catch block.
Fault CurrentExceptionAsFault(const std::string& where, Verdict verdict);

}  // namespace cudaagent::device
