/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 2 && x.size(1) == 8 && x.size(2) == 16 && x.size(3) == 16"],
  "steps": [
    {"op": "aten::conv2d", "args": ["$x", "$conv.weight", null, [1, 1], [1, 1]], "out": "conv2d"},
    {"kernel": "batch_norm_relu_kernel", "grid": [4], "block": [256],
     "args": ["$conv2d", "$bn.running_var", "$bn.weight", "$bn.running_mean", "$bn.bias", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [2, 8, 16, 16]
//   parameters: conv.weight float32 [8, 8, 3, 3], bn.weight float32 [8], bn.bias float32 [8],
//     bn.running_mean float32 [8], bn.running_var float32 [8], bn.num_batches_tracked int64 []
//   outputs: out0 float32 [2, 8, 16, 16]

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

// batch_norm, relu: 4096 elements.
__global__ void __launch_bounds__(256)
batch_norm_relu_kernel(const float* __restrict__ conv2d,
    const float* __restrict__ bn_running_var, const float* __restrict__ bn_weight,
    const float* __restrict__ bn_running_mean, const float* __restrict__ bn_bias,
    float* __restrict__ relu_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> relu_out_pack;
    const Pack<float, kVector> conv2d_pack = Load<kVector>(conv2d + i);
    const float bn_running_var_value = bn_running_var[i / 256 % 8];
    const float batch_norm_scale = rsqrtf(bn_running_var_value + 1e-05f);
    const float bn_weight_value = bn_weight[i / 256 % 8];
    const float batch_norm_scale_2 = batch_norm_scale * bn_weight_value;
    const float bn_running_mean_value = bn_running_mean[i / 256 % 8];
    const float batch_norm_shift = -bn_running_mean_value * batch_norm_scale_2;
    const float bn_bias_value = bn_bias[i / 256 % 8];
    const float batch_norm_shift_2 = batch_norm_shift + bn_bias_value;
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float batch_norm = conv2d_pack.at[k] * batch_norm_scale_2 + batch_norm_shift_2;
      const float relu = MaxOf(batch_norm, 0.0f);
      relu_out_pack.at[k] = relu;
    }
    Store(relu_out + i, relu_out_pack);
  }
}
