// How far each element of an output is from the expected one, in the measure the tiers are stated
// in.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "verify/chunked_pair.h"

namespace cudaagent::verify {

// What an output's errors are relative to.
struct Scale {
  bool exact = false;  // integers and booleans: any difference is an error
  bool finite = true;  // false: some expected elements are NaN or infinite
  double rms = 0;      // of the finite expected elements, never below the dtype's smallest normal
};

// One pass over the expected output; sums of squares in float64. Waits for the device.
Scale ScaleOf(const ChunkedPair& pair);

// Whether every floating element of every tensor is neither NaN nor infinite.
bool AllFinite(const std::vector<at::Tensor>& tensors);

// Complex outputs are compared as pairs of reals.
at::Tensor AsReal(const at::Tensor& tensor);

// Per element of a chunk, flat: |got - expected|, and that over (RMS + |expected|), so that tier t
// passes an element exactly where scaled <= t. Infinite where NaN or Inf do not match (their signs
// included); 0 where they do. For exact types scaled is 1 where the elements differ.
struct ElementErrors {
  at::Tensor absolute, scaled;
};
ElementErrors ErrorsOf(const ChunkedPair::Chunk& chunk, const Scale& scale);

// The largest of both over an output, and where.
struct WorstErrors {
  double absolute = 0;
  double scaled = 0;
  int64_t chunk = 0;  // the one that holds the largest scaled error
};
WorstErrors FindWorst(const ChunkedPair& pair, const Scale& scale);

}  // namespace cudaagent::verify
