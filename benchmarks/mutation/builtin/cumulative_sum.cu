/*cudaagent
{
  "plan": 1,
  "tune": {"SCAN_THREADS": [512, 1024, 256], "SCAN_ITEMS": [4, 8, 2]},
  "require": ["x.size(0) == 16 && x.size(1) == 3000"],
  "steps": [
    {"kernel": "mul_cumsum_kernel<SCAN_THREADS, {(SCAN_ITEMS == 2 ? 2 : 3)}>", "grid": [16],
     "block": ["SCAN_THREADS"], "args": ["$x", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [16, 3000]
//   outputs: out0 float32 [16, 3000]

// N elements that travel together: one access of up to 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

template <int N, typename T>
__device__ __forceinline__ Pack<T, N> Load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <typename T, int N>
__device__ __forceinline__ void Store(T* to, const Pack<T, N>& values) {
  *reinterpret_cast<Pack<T, N>*>(to) = values;
}

struct Plus {
  static constexpr float kNeutral = 0.0f;
  __device__ static float Of(float a, float b) { return a + b; }
};

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

// mul, cumsum: along 16 rows of 3000 elements.
template <int kThreads, int kItems>
__global__ void __launch_bounds__(kThreads)
mul_cumsum_kernel(const float* __restrict__ x,
    float* __restrict__ cumsum_out) {
  // kItems: such groups per thread and tile.
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 3000;
  constexpr unsigned kTile = kThreads * kItems * kVector;
  const unsigned row = blockIdx.x;  // one block, one row, tile after tile
  const unsigned lane = threadIdx.x;
  float carry = Plus::kNeutral;
  for (unsigned tile = 0; tile < kColumns; tile += kTile) {
    float scanned[kItems][kVector];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) scanned[item][k] = Plus::kNeutral;
      const unsigned at = tile + (item * kThreads + lane) * kVector;
      if (at >= kColumns) continue;
      const unsigned col = at;
      const unsigned i = row * kColumns + col;
      const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        const float mul = x_pack.at[k] * 0.125f;
        scanned[item][k] = mul;
      }
    }
    carry = ScanTile<Plus, kThreads>(scanned, carry);
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const unsigned at = tile + (item * kThreads + lane) * kVector;
      if (at >= kColumns) continue;
      const unsigned col = at;
      const unsigned i = row * kColumns + col;
      Pack<float, kVector> cumsum_out_pack;
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        cumsum_out_pack.at[k] = scanned[item][k];
      }
      Store(cumsum_out + i, cumsum_out_pack);
    }
  }
}
