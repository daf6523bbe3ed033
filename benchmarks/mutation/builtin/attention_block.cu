/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 2 && x.size(1) == 32 && x.size(2) == 64"],
  "buffers": {
    "layer_norm": {"dtype": "float32", "shape": [2, 32, 64]},
    "softmax": {"dtype": "float32", "shape": [2, 4, 32, 32]}
  },
  "steps": [
    {"kernel": "layer_norm_kernel", "grid": [64], "block": [64],
     "args": ["$x", "$norm.weight", "$norm.bias", "$layer_norm"]},
    {"op": "aten::linear", "args": ["$layer_norm", "$qkv.weight", "$qkv.bias"], "out": "linear"},
    {"op": "aten::split.Tensor", "args": ["$linear", 64, 2],
     "out": ["getitem", "getitem_1", "getitem_2"]},
    {"op": "aten::view", "args": ["$getitem", [2, 32, 4, 16]], "out": "view"},
    {"op": "aten::transpose.int", "args": ["$view", 1, 2], "out": "transpose"},
    {"op": "aten::view", "args": ["$getitem_1", [2, 32, 4, 16]], "out": "view_1"},
    {"op": "aten::transpose.int", "args": ["$view_1", 1, 2], "out": "transpose_1"},
    {"op": "aten::view", "args": ["$getitem_2", [2, 32, 4, 16]], "out": "view_2"},
    {"op": "aten::transpose.int", "args": ["$view_2", 1, 2], "out": "transpose_2"},
    {"op": "aten::transpose.int", "args": ["$transpose_1", -2, -1], "out": "transpose_3"},
    {"op": "aten::matmul", "args": ["$transpose", "$transpose_3"], "out": "matmul"},
    {"kernel": "div_bitwise_not_masked_fill_softmax_kernel", "grid": [256], "block": [64],
     "args": ["$matmul", "$causal", "$softmax"]},
    {"op": "aten::matmul", "args": ["$softmax", "$transpose_2"], "out": "matmul_1"},
    {"op": "aten::transpose.int", "args": ["$matmul_1", 1, 2], "out": "transpose_4"},
    {"op": "aten::reshape", "args": ["$transpose_4", [2, 32, 64]], "out": "reshape"},
    {"op": "aten::linear", "args": ["$reshape", "$out.weight", "$out.bias"], "out": "linear_1"},
    {"kernel": "add_kernel", "grid": [4], "block": [256], "args": ["$x", "$linear_1", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [2, 32, 64]
//   parameters: causal bool [32, 32], norm.weight float32 [64], norm.bias float32 [64],
//     qkv.weight float32 [192, 64], qkv.bias float32 [192], out.weight float32 [64, 64],
//     out.bias float32 [64]
//   outputs: out0 float32 [2, 32, 64]

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

// Mean and sum of squared deviations (m2), merged by Chan's formula: no cancellation however large
// the mean is.
struct Moments {
  float count, mean, m2;
  __device__ static Moments Empty() { return {0.0f, 0.0f, 0.0f}; }
  __device__ void Add(float x) {
    const float one[1] = {x};
    Add(one);
  }
  template <int N>
  __device__ void Add(const float (&x)[N]) {
    Moments fresh = {float(N), 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < N; ++k) fresh.mean += x[k];
    fresh.mean *= 1.0f / N;
#pragma unroll
    for (int k = 0; k < N; ++k) fresh.m2 += (x[k] - fresh.mean) * (x[k] - fresh.mean);
    Merge(fresh);
  }
  __device__ void Merge(const Moments& other) {
    if (other.count == 0.0f) return;
    const float total = count + other.count;
    const float share = __fdividef(other.count, total);
    const float delta = other.mean - mean;
    mean += delta * share;
    m2 += other.m2 + delta * delta * count * share;
    count = total;
  }
  __device__ Moments FromLane(int mask) const {
    return {__shfl_xor_sync(0xffffffffu, count, mask), __shfl_xor_sync(0xffffffffu, mean, mask),
            __shfl_xor_sync(0xffffffffu, m2, mask)};
  }
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

// layer_norm: 64 rows of 64 elements.
__global__ void __launch_bounds__(64)
layer_norm_kernel(const float* __restrict__ x,
    const float* __restrict__ norm_weight, const float* __restrict__ norm_bias,
    float* __restrict__ layer_norm_out) {
  constexpr int kThreads = 64;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 64;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  Moments layer_norm_moments = Moments::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) break;
    const unsigned i = row * kColumns + col;
    float layer_norm_moments_of[kVector];
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      layer_norm_moments_of[k] = x_pack.at[k];
    }
    layer_norm_moments.Add(layer_norm_moments_of);
  }
  layer_norm_moments = BlockReduce<kThreads>(layer_norm_moments);
  const float layer_norm_scale = rsqrtf(layer_norm_moments.m2 / 64.0f + 1e-05f);
#pragma unroll 4
  for (int item = kItems - 1; item >= 0; --item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) continue;
    const unsigned i = row * kColumns + col;
    Pack<float, kVector> layer_norm_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
    const Pack<float, kVector> norm_weight_pack = Load<kVector>(norm_weight + col);
    const Pack<float, kVector> norm_bias_pack = Load<kVector>(norm_bias + col);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float layer_norm_centered = x_pack.at[k] - layer_norm_moments.mean;
      const float layer_norm = layer_norm_centered * layer_norm_scale * norm_weight_pack.at[k] + norm_bias_pack.at[k];
      layer_norm_out_pack.at[k] = layer_norm;
    }
    Store(layer_norm_out + i, layer_norm_out_pack);
  }
}

// div, bitwise_not, masked_fill, softmax: 256 rows of 32 elements.
__global__ void __launch_bounds__(64)
div_bitwise_not_masked_fill_softmax_kernel(const float* __restrict__ matmul,
    const bool* __restrict__ causal, float* __restrict__ softmax_out) {
  constexpr int kThreads = 64;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 32;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  OnlineSoftmax softmax_exps = OnlineSoftmax::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) break;
    const unsigned i = row * kColumns + col;
    float softmax_exps_of[kVector];
    const Pack<float, kVector> matmul_pack = Load<kVector>(matmul + i);
    const Pack<bool, kVector> causal_pack = Load<kVector>(causal + i % 1024);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float div = matmul_pack.at[k] * 0.25f;
      const bool bitwise_not = !causal_pack.at[k];
      const float masked_fill = bitwise_not ? (-INFINITY) : div;
      softmax_exps_of[k] = masked_fill;
    }
    softmax_exps.Add(softmax_exps_of);
  }
  softmax_exps = BlockReduce<kThreads>(softmax_exps);
  const float softmax_scale = 1.0f / softmax_exps.sum;
#pragma unroll 4
  for (int item = kItems - 1; item >= 0; --item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) continue;
    const unsigned i = row * kColumns + col;
    Pack<float, kVector> softmax_out_pack;
    const Pack<float, kVector> matmul_pack = Load<kVector>(matmul + i);
    const Pack<bool, kVector> causal_pack = Load<kVector>(causal + i % 1024);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float div = matmul_pack.at[k] * 0.25f;
      const bool bitwise_not = !causal_pack.at[k];
      const float masked_fill = bitwise_not ? (-INFINITY) : div;
      const float softmax = expf(masked_fill - softmax_exps.max) * softmax_scale;
      softmax_out_pack.at[k] = softmax;
    }
    Store(softmax_out + i, softmax_out_pack);
  }
}

// add: 4096 elements.
__global__ void __launch_bounds__(256)
add_kernel(const float* __restrict__ x,
    const float* __restrict__ linear_1, float* __restrict__ add_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> add_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
    const Pack<float, kVector> linear_1_pack = Load<kVector>(linear_1 + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float add = x_pack.at[k] + linear_1_pack.at[k];
      add_out_pack.at[k] = add;
    }
    Store(add_out + i, add_out_pack);
  }
}
