// Device memory that ends where nothing is mapped, by the driver's virtual memory management.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace cudaagent::device::gpu {

// What blocks must be a multiple of, a power of two (2 MiB on an H200). Throws c10::Error where the
// driver cannot say.
int64_t MappingGranularity(at::Device device);

// `bytes` (a multiple of the granularity) as uint8 with undefined contents, aligned to the
// granularity; at least one granule of addresses before and after is unmapped for the tensor's
// life. With its storage the memory goes back to the driver, after a wait for the device; not while
// a capture is under way. Throws c10::OutOfMemoryError, or c10::Error where the driver cannot do
// it.
at::Tensor AllocateBeforeUnmapped(int64_t bytes, at::Device device);

}  // namespace cudaagent::device::gpu
