#include "device/gpu/memory_peak.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace cudaagent::device::gpu {
namespace {

c10::CachingAllocator::Stat Allocated() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  return stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

}  // namespace

MemoryPeak::MemoryPeak() {
  c10::cuda::CUDACachingAllocator::resetPeakStats(c10::cuda::current_device());
  start_ = Allocated().current;
}

int64_t MemoryPeak::bytes() const { return Allocated().peak - start_; }

}  // namespace cudaagent::device::gpu
