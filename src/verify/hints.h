// What the pattern of a wrong output suggests, in words a proposer can act on.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "verify/element_errors.h"

namespace cudaagent::verify {

// One clause ("all rows after 31 are wrong"), or "" where no known pattern fits. `limit` is the
// scaled error up to which an element counts as right. Takes several passes over the output and
// one byte per element: for failures only.
std::string DescribePattern(const at::Tensor& got, const at::Tensor& expected, const Scale& scale,
                            double limit);

}  // namespace cudaagent::verify
