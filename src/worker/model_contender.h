// The user's model as something to time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "measure/measure.h"
#include "reference/reference.h"
#include "worker/fresh_inputs.h"

namespace cudaagent::worker {

// Reference::Forward or one of its like.
using ModelForward = Result<std::vector<at::Tensor>> (reference::Reference::*)(
    const std::vector<c10::IValue>&, Precision);

// `forward` under `precision`, on new inputs each iteration. Where it fails the fault is kInfraError
// and `world` says why. All arguments must outlive the contender.
measure::Contender ModelContender(const std::string& name, reference::Reference& reference,
                                  ModelForward forward, Precision precision, FreshInputs& fresh,
                                  std::optional<Error>& world);

}  // namespace cudaagent::worker
