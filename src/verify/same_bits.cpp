#include "verify/same_bits.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

namespace cudaagent::verify {

bool SameBits(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return true;
  if (a.is_complex()) return SameBits(at::view_as_real(a), at::view_as_real(b));
  if (a.strides() != b.strides() || !a.is_non_overlapping_and_dense()) {
    // A differing layout is compared logically, one slice of the first dimension at a time.
    if (a.is_contiguous() && b.is_contiguous()) {
      return SameBits(a.view({-1}), b.view({-1}));
    }
    if (a.dim() == 0) return SameBits(a.reshape({1}), b.reshape({1}));
    for (int64_t i = 0; i < a.size(0); ++i) {
      if (!SameBits(a.select(0, i).contiguous(), b.select(0, i).contiguous())) return false;
    }
    return true;
  }
  const int64_t bytes = static_cast<int64_t>(a.numel() * a.element_size());
  // The widest integer the storage divides into: eight times fewer elements to compare than bytes.
  const bool wide = bytes % 8 == 0 && reinterpret_cast<uintptr_t>(a.data_ptr()) % 8 == 0 &&
                    reinterpret_cast<uintptr_t>(b.data_ptr()) % 8 == 0;
  const auto flat = [&](const at::Tensor& tensor) {
    const at::Tensor dense = tensor.as_strided({tensor.numel()}, {1});
    return dense.view(wide ? at::kLong : at::kByte);
  };
  const at::Tensor x = flat(a), y = flat(b);
  constexpr int64_t kChunk = 16 << 20;  // at::equal makes one byte per element
  at::Tensor differ = at::zeros({}, x.options().dtype(at::kBool));
  if (x.numel() <= kChunk) return x.equal(y);
  for (int64_t start = 0; start < x.numel(); start += kChunk) {
    const int64_t length = std::min(kChunk, x.numel() - start);
    differ.logical_or_(x.narrow(0, start, length).ne(y.narrow(0, start, length)).any());
  }
  return !differ.item<bool>();
}

}  // namespace cudaagent::verify
