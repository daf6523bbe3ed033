/*cudaagent
{
  "plan": 1,
  "require": ["scores.size(0) == 64 && scores.size(1) == 512", "target.size(0) == 64"],
  "buffers": {"nll_loss_nd_part2": {"dtype": "float32", "shape": [64]}},
  "steps": [
    {"kernel": "logsumexp_nll_element_kernel", "grid": [64], "block": [128],
     "args": ["$target", "$scores", "$nll_loss_nd_part2"]},
    {"kernel": "nll_counts_sum_div_kernel", "grid": [1], "block": [64],
     "args": ["$nll_loss_nd_part2", "$target", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: scores float32 [64, 512], target int64 [64]
//   outputs: out0 float32 []

// N elements that travel together: one access of up to 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

template <int N, typename T>
__device__ __forceinline__ Pack<T, N> Load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

__device__ __forceinline__ float LogSumExp(float max, float sum) {
  return fabsf(max) == INFINITY ? max : max + logf(sum);
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

// logsumexp, nll_element: 64 rows of 512 elements.
__global__ void __launch_bounds__(128)
logsumexp_nll_element_kernel(const long long* __restrict__ target,
    const float* __restrict__ scores, float* __restrict__ nll_loss_nd_part2_out) {
  constexpr int kThreads = 128;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 512;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  const long long target_value = target[row];
  const bool nll_loss_nd_part2 = target_value != -100;
  const long long nll_loss_nd_part2_class = nll_loss_nd_part2 ? target_value : 0;
  const float scores_value = scores[nll_loss_nd_part2_class + row * 512];
  OnlineSoftmax nll_loss_nd_part1_exps = OnlineSoftmax::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    float nll_loss_nd_part1_exps_of[kVector];
    const Pack<float, kVector> scores_pack = Load<kVector>(scores + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      nll_loss_nd_part1_exps_of[k] = scores_pack.at[k];
    }
    nll_loss_nd_part1_exps.Add(nll_loss_nd_part1_exps_of);
  }
  nll_loss_nd_part1_exps = BlockReduce<kThreads>(nll_loss_nd_part1_exps);
  const float nll_loss_nd_part1 = LogSumExp(nll_loss_nd_part1_exps.max, nll_loss_nd_part1_exps.sum);
  const float nll_loss_nd_part2_2 = nll_loss_nd_part2 ? nll_loss_nd_part1 - scores_value : 0.0f;
  if (lane == 0) nll_loss_nd_part2_out[row] = nll_loss_nd_part2_2;
}

// nll_counts, sum, sum, div: 1 rows of 64 elements.
__global__ void __launch_bounds__(64)
nll_counts_sum_div_kernel(const float* __restrict__ nll_loss_nd_part2,
    const long long* __restrict__ target, float* __restrict__ nll_loss_nd_out) {
  constexpr int kThreads = 64;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 64;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  Sum nll_loss_nd_part4_sum = Sum::Empty();
  Sum nll_loss_nd_part5_sum = Sum::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) break;
    float nll_loss_nd_part4_sum_of[kVector];
    float nll_loss_nd_part5_sum_of[kVector];
    const Pack<float, kVector> nll_loss_nd_part2_pack = Load<kVector>(nll_loss_nd_part2 + col);
    const Pack<long long, kVector> target_pack = Load<kVector>(target + col);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const bool nll_loss_nd_part3 = target_pack.at[k] != -100;
      const float nll_loss_nd_part3_2 = nll_loss_nd_part3 ? 1.0f : 0.0f;
      nll_loss_nd_part4_sum_of[k] = nll_loss_nd_part2_pack.at[k];
      nll_loss_nd_part5_sum_of[k] = nll_loss_nd_part3_2;
    }
    nll_loss_nd_part4_sum.Add(nll_loss_nd_part4_sum_of);
    nll_loss_nd_part5_sum.Add(nll_loss_nd_part5_sum_of);
  }
  nll_loss_nd_part4_sum = BlockReduce<kThreads>(nll_loss_nd_part4_sum);
  nll_loss_nd_part5_sum = BlockReduce<kThreads>(nll_loss_nd_part5_sum);
  const float nll_loss_nd = nll_loss_nd_part4_sum.sum / nll_loss_nd_part5_sum.sum;
  if (lane == 0) nll_loss_nd_out[row] = nll_loss_nd;
}
