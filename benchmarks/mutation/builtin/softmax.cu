/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 64 && x.size(1) == 1024"],
  "steps": [{"kernel": "softmax_kernel", "grid": [64], "block": [256], "args": ["$x", "$out0"]}]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [64, 1024]
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

// Largest element and the sum of exp(x - largest) in one pass: the sum is scaled when the largest
// changes.
struct OnlineSoftmax {
  float max, sum;
  __device__ static OnlineSoftmax Empty() { return {-INFINITY, 0.0f}; }
  __device__ void Add(float x) {
    const float one[1] = {x};
    Add(one);
  }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
    float largest = x[0];
#pragma unroll
    for (int k = 1; k < N; ++k) largest = fmaxf(largest, x[k]);
    Rescale(largest);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      // Where all was -inf so far, -inf - -inf would make a NaN of nothing.
      sum += max == -INFINITY ? (x[k] != x[k] ? x[k] : 0.0f) : expf(x[k] - max);
    }
  }
  __device__ void Rescale(float candidate) {
    if (candidate <= max) return;
    sum *= expf(max - candidate);
    max = candidate;
  }
  __device__ void Merge(const OnlineSoftmax& other) {
    Rescale(other.max);
    sum += other.max == max ? other.sum : other.sum * expf(other.max - max);
  }
  __device__ OnlineSoftmax FromLane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, max, mask), __shfl_xor_sync(0xffffffffu, sum, mask)};
  }
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

// softmax: 64 rows of 1024 elements.
__global__ void __launch_bounds__(256)
softmax_kernel(const float* __restrict__ x,
    float* __restrict__ softmax_out) {
  constexpr int kThreads = 256;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 1024;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  OnlineSoftmax softmax_exps = OnlineSoftmax::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    float softmax_exps_of[kVector];
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      softmax_exps_of[k] = x_pack.at[k];
    }
    softmax_exps.Add(softmax_exps_of);
  }
  softmax_exps = BlockReduce<kThreads>(softmax_exps);
  const float softmax_scale = 1.0f / softmax_exps.sum;
#pragma unroll 4
  for (int item = kItems - 1; item >= 0; --item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    Pack<float, kVector> softmax_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float softmax = expf(x_pack.at[k] - softmax_exps.max) * softmax_scale;
      softmax_out_pack.at[k] = softmax;
    }
    Store(softmax_out + i, softmax_out_pack);
  }
}
