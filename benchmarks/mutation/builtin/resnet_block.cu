/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 2 && x.size(1) == 8 && x.size(2) == 12 && x.size(3) == 12"],
  "buffers": {"relu": {"dtype": "float32", "shape": [2, 8, 12, 12]}},
  "steps": [
    {"op": "aten::conv2d", "args": ["$x", "$conv1.weight", null, [1, 1], [1, 1]], "out": "conv2d"},
    {"kernel": "batch_norm_relu_kernel", "grid": [3], "block": [256],
     "args": ["$conv2d", "$bn1.running_var", "$bn1.weight", "$bn1.running_mean", "$bn1.bias",
      "$relu"]},
    {"op": "aten::conv2d", "args": ["$relu", "$conv2.weight", null, [1, 1], [1, 1]],
     "out": "conv2d_1"},
    {"kernel": "batch_norm_add_relu_mean_kernel", "grid": [16], "block": [64],
     "args": ["$conv2d_1", "$bn2.running_var", "$bn2.weight", "$bn2.running_mean", "$bn2.bias",
      "$x", "$out0", "$out1"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [2, 8, 12, 12]
//   parameters: conv1.weight float32 [8, 8, 3, 3], bn1.weight float32 [8], bn1.bias float32 [8],
//     bn1.running_mean float32 [8], bn1.running_var float32 [8],
//     bn1.num_batches_tracked int64 [], conv2.weight float32 [8, 8, 3, 3],
//     bn2.weight float32 [8], bn2.bias float32 [8], bn2.running_mean float32 [8],
//     bn2.running_var float32 [8], bn2.num_batches_tracked int64 []
//   outputs: out0 float32 [2, 8, 12, 12], out1 float32 [2, 8]

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

// batch_norm, relu: 2304 elements.
__global__ void __launch_bounds__(256)
batch_norm_relu_kernel(const float* __restrict__ conv2d,
    const float* __restrict__ bn1_running_var, const float* __restrict__ bn1_weight,
    const float* __restrict__ bn1_running_mean, const float* __restrict__ bn1_bias,
    float* __restrict__ relu_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kElements = 2304;
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    if (i >= kElements) break;
    Pack<float, kVector> relu_out_pack;
    const Pack<float, kVector> conv2d_pack = Load<kVector>(conv2d + i);
    const float bn1_running_var_value = bn1_running_var[i / 144 % 8];
    const float batch_norm_scale = rsqrtf(bn1_running_var_value + 1e-05f);
    const float bn1_weight_value = bn1_weight[i / 144 % 8];
    const float batch_norm_scale_2 = batch_norm_scale * bn1_weight_value;
    const float bn1_running_mean_value = bn1_running_mean[i / 144 % 8];
    const float batch_norm_shift = -bn1_running_mean_value * batch_norm_scale_2;
    const float bn1_bias_value = bn1_bias[i / 144 % 8];
    const float batch_norm_shift_2 = batch_norm_shift + bn1_bias_value;
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float batch_norm = conv2d_pack.at[k] * batch_norm_scale_2 + batch_norm_shift_2;
      const float relu = MaxOf(batch_norm, 0.0f);
      relu_out_pack.at[k] = relu;
    }
    Store(relu_out + i, relu_out_pack);
  }
}

// batch_norm, add, relu, mean: 16 rows of 144 elements.
__global__ void __launch_bounds__(64)
batch_norm_add_relu_mean_kernel(const float* __restrict__ conv2d_1,
    const float* __restrict__ bn2_running_var, const float* __restrict__ bn2_weight,
    const float* __restrict__ bn2_running_mean, const float* __restrict__ bn2_bias,
    const float* __restrict__ x, float* __restrict__ relu_1_out, float* __restrict__ mean_out) {
  constexpr int kThreads = 64;
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  constexpr unsigned kColumns = 144;
  // Such groups per thread, read again in every pass.
  constexpr int kItems = (kColumns + kThreads * kVector - 1) / (kThreads * kVector);
  const unsigned row = blockIdx.x;  // one block, one row
  const unsigned lane = threadIdx.x;
  const float bn2_running_var_value = bn2_running_var[row % 8];
  const float batch_norm_1_scale = rsqrtf(bn2_running_var_value + 1e-05f);
  const float bn2_weight_value = bn2_weight[row % 8];
  const float batch_norm_1_scale_2 = batch_norm_1_scale * bn2_weight_value;
  const float bn2_running_mean_value = bn2_running_mean[row % 8];
  const float batch_norm_1_shift = -bn2_running_mean_value * batch_norm_1_scale_2;
  const float bn2_bias_value = bn2_bias[row % 8];
  const float batch_norm_1_shift_2 = batch_norm_1_shift + bn2_bias_value;
  Sum mean_sum = Sum::Empty();
#pragma unroll 4
  for (int item = 0; item < kItems; ++item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) break;
    const unsigned i = row * kColumns + col;
    float mean_sum_of[kVector];
    const Pack<float, kVector> conv2d_1_pack = Load<kVector>(conv2d_1 + i);
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float batch_norm_1 = conv2d_1_pack.at[k] * batch_norm_1_scale_2 + batch_norm_1_shift_2;
      const float add = batch_norm_1 + x_pack.at[k];
      const float relu_1 = MaxOf(add, 0.0f);
      mean_sum_of[k] = relu_1;
    }
    mean_sum.Add(mean_sum_of);
  }
  mean_sum = BlockReduce<kThreads>(mean_sum);
  const float mean = mean_sum.sum / 144.0f;
  if (lane == 0) mean_out[row] = mean;
#pragma unroll 4
  for (int item = kItems - 1; item >= 0; --item) {
    const unsigned col = (item * kThreads + lane) * kVector;
    if (col >= kColumns) continue;
    const unsigned i = row * kColumns + col;
    Pack<float, kVector> relu_1_out_pack;
    const Pack<float, kVector> conv2d_1_pack = Load<kVector>(conv2d_1 + i);
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float batch_norm_1 = conv2d_1_pack.at[k] * batch_norm_1_scale_2 + batch_norm_1_shift_2;
      const float add = batch_norm_1 + x_pack.at[k];
      const float relu_1 = MaxOf(add, 0.0f);
      relu_1_out_pack.at[k] = relu_1;
    }
    Store(relu_1_out + i, relu_1_out_pack);
  }
}
