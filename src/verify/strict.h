// The strict tier: judged against float64, by the yardstick of what eager itself achieves. It tells
// float16 inside a float32 kernel from a reordered sum.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "cudaagent/evaluation.h"

namespace cudaagent::verify {

// An output passes where its largest scaled error against `exact` (float64) is at most four times
// eager's, or eight units in the last place of the output's type, whichever is more. Integers must
// be equal. `sentence` says by how much the worst output misses; "" where all pass.
TierResult JudgeStrict(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& eager,
                       const std::vector<at::Tensor>& exact, std::string* sentence);

// Eager's largest scaled error against float64, over all outputs.
double EagerError(const std::vector<at::Tensor>& eager, const std::vector<at::Tensor>& exact);

}  // namespace cudaagent::verify
