// Tensors between guard zones. A GPU reports an access outside an allocation only by chance; a zone
// of known bytes on both sides tells of every write that misses its tensor by up to kGuardBytes.
// Strict guards on a GPU: unmapped memory follows the tensor, so that reads fault as well.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cudaagent/fault.h"
#include "device/guard.h"

namespace cudaagent::device {

// Where a tensor lies in a block whose start is aligned to GuardedMemory::kAlignment.
struct GuardLayout {
  int64_t begin = 0;  // of the tensor; a zone of kGuardBytes lies before it
  int64_t after = 0;  // bytes of the zone that follows it
  int64_t total = 0;  // of the block
};

// A zone on both sides.
GuardLayout ZonesLayout(int64_t span);
// The block is a multiple of `granularity` and ends with the tensor, but for what its alignment
// leaves: fewer than kAlignment bytes, which are the zone.
GuardLayout StrictLayout(int64_t span, int64_t granularity);

// Not thread-safe. Guards live as long as this object; a tensor may outlive it, unguarded.
class GuardedMemory {
 public:
  explicit GuardedMemory(Guard guard = Guard::kZones) : guard_(guard) {}

  static constexpr int64_t kGuardBytes = 64 << 10;  // before and after each tensor
  static constexpr int64_t kAlignment = 256;        // of the first element, in bytes

  // A tensor with these strides whose contents are undefined. `name` is used in faults ("out0").
  // Throws c10::OutOfMemoryError or another c10::Error where the memory is not to be had.
  at::Tensor Allocate(const std::string& name, at::IntArrayRef sizes, at::IntArrayRef strides,
                      at::ScalarType dtype, at::Device device);

  // kOutOfBounds naming the first tensor whose zone was written to, by how much and on which side.
  // All zones are restored. Waits for the device.
  Checked<void> Check();

  size_t size() const { return blocks_.size(); }

 private:
  struct Block {
    std::string name;
    at::Tensor bytes;   // uint8: zone, tensor, zone
    int64_t begin = 0;  // of the tensor in `bytes`
    int64_t end = 0;
    int64_t after = 0;  // bytes of the zone at `end`
  };
  Guard guard_;
  std::vector<Block> blocks_;
};

// Bytes from the first element to the end of the last, strides considered; 0 without elements.
int64_t SpanBytes(const at::Tensor& tensor);

// The same memory as uint8, SpanBytes() long.
at::Tensor AsBytes(const at::Tensor& tensor);

// Every byte of the span becomes 0xFF: NaN in all floating types.
void FillPoison(const at::Tensor& tensor);

}  // namespace cudaagent::device
