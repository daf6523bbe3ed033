__global__ void __launch_bounds__({{threads}})
{{name}}({{parameters}}) {
  constexpr int kLanes = {{lanes}};    // threads side by side along the columns
  constexpr int kSlices = {{slices}};  // threads that share a column
  constexpr int kVector = {{vector}};  // neighbouring columns a thread takes at once
  constexpr unsigned kReduced = {{reduced}};
  constexpr unsigned kInner = {{inner}};
  constexpr unsigned kTiles = (kInner + kLanes * kVector - 1) / (kLanes * kVector);
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned slice = threadIdx.x / kLanes;
  const {{index}} group = blockIdx.x / kTiles;
  const unsigned column = (blockIdx.x % kTiles * kLanes + lane) * kVector;
  {{accumulators}}
  if (column < kInner) {
#pragma unroll {{unroll}}
    for (unsigned r = slice; r < kReduced; r += kSlices) {
      const {{index}} i = (group * kReduced + r) * kInner + column;
      {{body}}
    }
  }
  {{exchange}}
  if (slice > 0 || column >= kInner) return;
  {{merge}}
  const {{index}} o = group * kInner + column;
  {{results}}
}
