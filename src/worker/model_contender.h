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

// The model under `precision`, on new inputs each iteration: eager where `mode` is "eager", else
// torch.compile in that mode. Where it fails the fault is kInfraError and `world` says why. All
// references must outlive the contender.
measure::Contender ModelContender(const std::string& mode, reference::Reference& reference,
                                  Precision precision, FreshInputs& fresh,
                                  std::optional<Error>& world);

}  // namespace cudaagent::worker
