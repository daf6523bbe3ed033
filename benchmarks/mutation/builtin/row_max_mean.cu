/*cudaagent
{
  "plan": 1,
  "tune": {"ROW_THREADS": [1024, 512, 256]},
  "require": ["x.size(0) == 128 && x.size(1) == 2048"],
  "steps": [
    {"kernel": "amax_mean_kernel<{(ROW_THREADS == 256 ? 256 : 512)}>", "grid": [128],
     "block": ["(ROW_THREADS == 256 ? 256 : 512)"], "args": ["$x", "$out0", "$out1"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [128, 2048]
//   outputs: out0 float32 [128], out1 float32 [128]

// N elements that travel together: one access of up to 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

template <int N, typename T>
__device__ __forceinline__ Pack<T, N> Load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

// NaN wins, as in PyTorch (fmaxf would drop it).
__device__ __forceinline__ float MaxOf(float a, float b) { return a > b || a != a ? a : b; }

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

struct Max {
  float value;
  __device__ static Max Empty() { return {-INFINITY}; }
  __device__ void Add(float x) { value = MaxOf(x, value); }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) value = MaxOf(x[k], value);
  }
  __device__ void Merge(const Max& other) { value = MaxOf(other.value, value); }
  __device__ Max FromLane(int mask) const { return {__shfl_xor_sync(0xffffffffu, value, mask)}; }
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

// amax, mean: 128 rows of 2048 elements.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
amax_mean_kernel(const float* __restrict__ x, float* __restrict__ amax_out,
    float* __restrict__ mean_out) {
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 2048;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  Max amax_max = Max::Empty();
  Sum mean_sum = Sum::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    float amax_max_of[kVector];
    float mean_sum_of[kVector];
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      amax_max_of[k] = x_pack.at[k];
      mean_sum_of[k] = x_pack.at[k];
    }
    amax_max.Add(amax_max_of);
    mean_sum.Add(mean_sum_of);
  }
  amax_max = BlockReduce<kThreads>(amax_max);
  mean_sum = BlockReduce<kThreads>(mean_sum);
  const float mean = mean_sum.sum / 2048.0f;
  if (lane == 0) {
    amax_out[row] = amax_max.value;
    mean_out[row] = mean;
  }
}
