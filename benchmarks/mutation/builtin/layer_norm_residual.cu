/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 64 && x.size(1) == 512",
   "residual.size(0) == 64 && residual.size(1) == 512"],
  "steps": [
    {"kernel": "add_layer_norm_kernel", "grid": [64], "block": [128],
     "args": ["$x", "$residual", "$norm.weight", "$norm.bias", "$out1", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [64, 512], residual float32 [64, 512]
//   parameters: norm.weight float32 [512], norm.bias float32 [512]
//   outputs: out0 float32 [64, 512], out1 float32 [64, 512]

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

// add, layer_norm: 64 rows of 512 elements.
__global__ void __launch_bounds__(128)
add_layer_norm_kernel(const float* __restrict__ x,
    const float* __restrict__ residual, const float* __restrict__ norm_weight,
    const float* __restrict__ norm_bias, float* __restrict__ add_out,
    float* __restrict__ layer_norm_out) {
  constexpr int kThreads = 128;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 512;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  Moments layer_norm_moments = Moments::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    float layer_norm_moments_of[kVector];
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
    const Pack<float, kVector> residual_pack = Load<kVector>(residual + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float add = x_pack.at[k] + residual_pack.at[k];
      layer_norm_moments_of[k] = add;
    }
    layer_norm_moments.Add(layer_norm_moments_of);
  }
  layer_norm_moments = BlockReduce<kThreads>(layer_norm_moments);
  const float layer_norm_scale = rsqrtf(layer_norm_moments.m2 / 512.0f + 1e-05f);
#pragma unroll 4
  for (int item = kItems - 1; item >= 0; --item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    const unsigned i = row * kColumns + col;
    Pack<float, kVector> add_out_pack;
    Pack<float, kVector> layer_norm_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
    const Pack<float, kVector> residual_pack = Load<kVector>(residual + i);
    const Pack<float, kVector> norm_weight_pack = Load<kVector>(norm_weight + col);
    const Pack<float, kVector> norm_bias_pack = Load<kVector>(norm_bias + col);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float add = x_pack.at[k] + residual_pack.at[k];
      const float layer_norm_centered = add - layer_norm_moments.mean;
      const float layer_norm = layer_norm_centered * layer_norm_scale * norm_weight_pack.at[k] + norm_bias_pack.at[k];
      add_out_pack.at[k] = add;
      layer_norm_out_pack.at[k] = layer_norm;
    }
    Store(add_out + i, add_out_pack);
    Store(layer_norm_out + i, layer_norm_out_pack);
  }
}
