// Equality of contents bit for bit: NaN equals itself and -0 differs from 0.
#pragma once

#include <ATen/core/Tensor.h>

namespace cudaagent::verify {

// Both must have the same shape and type; layouts may differ. Walks in chunks: temporaries of at
// most 16 MiB where both are dense. Waits for the device.
bool SameBits(const at::Tensor& a, const at::Tensor& b);

}  // namespace cudaagent::verify
