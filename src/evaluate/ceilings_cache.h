// A device's measured ceilings, kept between runs.
#pragma once

#include <optional>
#include <string>

#include "cudaagent/ceilings.h"
#include "cudaagent/evaluation.h"

namespace cudaagent::evaluate {

// `cache_dir` as in Config; an empty one holds and keeps nothing. A new driver or torch has none
// yet.
std::optional<Ceilings> FindCeilings(const std::string& cache_dir, const DeviceStamp& device);
void KeepCeilings(const std::string& cache_dir, const DeviceStamp& device,
                  const Ceilings& ceilings);

}  // namespace cudaagent::evaluate
