// Running sums and products. Pieces as in math.cu.

//@ Plus
struct Plus {
  static constexpr float kNeutral = 0.0f;
  __device__ static float Of(float a, float b) { return a + b; }
};

//@ Times
struct Times {
  static constexpr float kNeutral = 1.0f;
  __device__ static float Of(float a, float b) { return a * b; }
};

//@ WarpScan
// Lane n gets the result of lanes 0 to n.
template <typename Operation>
__device__ __forceinline__ float WarpScan(float x) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, x, distance);
    if (threadIdx.x % 32 >= distance) x = Operation::Of(before, x);
  }
  return x;
}

//@ ScanTile
// x holds, item by item, kThreads groups of kVector neighbours each. Every element becomes the
// result of `carry` and all elements up to it. Returns that of the last.
template <typename Operation, int kThreads, int kItems, int kVector>
__device__ __forceinline__ float ScanTile(float (&x)[kItems][kVector], float carry) {
  constexpr int kWarps = kThreads / 32;
  constexpr int kTotals = kItems * kWarps;
  __shared__ float totals[kTotals];
  __shared__ float end;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int k = 1; k < kVector; ++k) x[item][k] = Operation::Of(x[item][k - 1], x[item][k]);
    const float upto = WarpScan<Operation>(x[item][kVector - 1]);
    float before = __shfl_up_sync(0xffffffffu, upto, 1);
    if (lane == 0) before = Operation::kNeutral;
#pragma unroll
    for (int k = 0; k < kVector; ++k) x[item][k] = Operation::Of(before, x[item][k]);
    if (lane == 31) totals[item * kWarps + warp] = upto;
  }
  __syncthreads();
  if (warp == 0) {
    float running = carry;
#pragma unroll
    for (int first = 0; first < kTotals; first += 32) {
      const int at = first + lane;
      const float upto = WarpScan<Operation>(at < kTotals ? totals[at] : Operation::kNeutral);
      float before = __shfl_up_sync(0xffffffffu, upto, 1);
      if (lane == 0) before = Operation::kNeutral;
      if (at < kTotals) totals[at] = Operation::Of(running, before);
      running = Operation::Of(running, __shfl_sync(0xffffffffu, upto, 31));
    }
    if (lane == 0) end = running;
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const float before = totals[item * kWarps + warp];
#pragma unroll
    for (int k = 0; k < kVector; ++k) x[item][k] = Operation::Of(before, x[item][k]);
  }
  const float last = end;
  __syncthreads();  // before the next tile writes the totals
  return last;
}
