/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 64 && x.size(1) == 1024"],
  "steps": [
    {"kernel": "pow_mean_add_rsqrt_etc_kernel", "grid": [64], "block": [256],
     "args": ["$x", "$weight", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [64, 1024]
//   parameters: weight float32 [1024]
//   outputs: out0 float32 [64, 1024]

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

struct Sum {
  float sum;
  __device__ static Sum Empty() { return {0.0f}; }
  __device__ void Add(float x) { sum += x; }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) sum += x[k];
  }
  __device__ void Merge(const Sum& other) { sum += other.sum; }
  __device__ Sum FromLane(int mask) const { return {__shfl_xor_sync(0xffffffffu, sum, mask)}; }
};

// Every one of kLanes neighbouring lanes gets the result. All lanes of the warp take part.
template <int kLanes, typename Accumulator>
__device__ __forceinline__ Accumulator LanesReduce(Accumulator mine) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) mine.Merge(mine.FromLane(mask));
  return mine;
}

// Every thread of the block gets the result. kThreads is a multiple of 32.
template <int kThreads, typename Accumulator>
__device__ __forceinline__ Accumulator BlockReduce(Accumulator mine) {
  constexpr int kWarps = kThreads / 32;
  __shared__ Accumulator of_warp[kWarps];
  mine = LanesReduce<32>(mine);
  if (kWarps == 1) return mine;
  __syncthreads();  // an earlier reduction may still be reading
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  return LanesReduce<32>(lane < kWarps ? of_warp[lane] : Accumulator::Empty());
}

// pow, mean, add, rsqrt, mul, mul: 64 rows of 1024 elements.
__global__ void __launch_bounds__(256)
pow_mean_add_rsqrt_etc_kernel(const float* __restrict__ x,
    const float* __restrict__ weight, float* __restrict__ mul_1_out) {
  constexpr int kThreads = 256;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 1024;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  Sum mean_sum = Sum::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    float mean_sum_of[kVector];
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float pow_1 = x_pack.at[k] * x_pack.at[k];
      mean_sum_of[k] = pow_1;
    }
    mean_sum.Add(mean_sum_of);
  }
  mean_sum = BlockReduce<kThreads>(mean_sum);
  const float mean = mean_sum.sum / 1024.0f;
  const float add = mean + 1e-06f;
  const float rsqrt = rsqrtf(add);
#pragma unroll 4
  for (int item = kItems - 1; item >= 0; --item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    Pack<float, kVector> mul_1_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
    const Pack<float, kVector> weight_pack = Load<kVector>(weight + col);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float mul = x_pack.at[k] * rsqrt;
      const float mul_1 = mul * weight_pack.at[k];
      mul_1_out_pack.at[k] = mul_1;
    }
    Store(mul_1_out + i, mul_1_out_pack);
  }
}
