// Two tensors of equal shape walked together in flat chunks, so that a comparison of outputs of
// many gigabytes needs temporaries of a chunk only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace cudaagent::verify {

// Walks in the memory order of `expected` (channels_last included). Where both tensors are dense
// and laid out alike, chunks are views; otherwise each chunk is copied together on its own.
class ChunkedPair {
 public:
  struct Chunk {
    at::Tensor got, expected;  // one-dimensional, equal length
    int64_t first = 0;         // position of its first element in the walk
  };

  // Both must have the same shape and lie on the same device. A chunk has a thirty-second of the
  // elements (at least 32,768, at most 8 Mi): a handful of temporaries of eight bytes an element
  // and a byte for each element of the whole stay below 1.1 times the tensor, or 2 MiB.
  ChunkedPair(const at::Tensor& got, const at::Tensor& expected);

  int64_t numel() const { return numel_; }
  int64_t chunks() const { return chunks_; }
  Chunk At(int64_t chunk) const;
  // The logical index of the element at `position` in the walk.
  std::vector<int64_t> IndexOf(int64_t position) const;
  // A tensor filled in walking order, seen in the shape of the two.
  at::Tensor InShape(const at::Tensor& walked) const;

 private:
  at::Tensor got_, expected_;   // flat, or permuted where not dense
  std::vector<int64_t> order_;  // walked dimension -> logical dimension
  std::vector<int64_t> walked_sizes_;
  bool flat_ = false;
  int64_t numel_ = 0, row_ = 1, step_ = 1, chunks_ = 0;  // step_: elements, or rows where not flat
};

}  // namespace cudaagent::verify
