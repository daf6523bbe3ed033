/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 2 && x.size(1) == 8 && x.size(2) == 16 && x.size(3) == 16"],
  "steps": [
    {"op": "aten::conv2d", "args": ["$x", "$conv.weight", null, [1, 1], [1, 1], [1, 1], 8],
     "out": "conv2d_without_bias"},
    {"kernel": "add_channel_bias_mul_hardswish_kernel", "grid": [4], "block": [256],
     "args": ["$conv2d_without_bias", "$conv.bias", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [2, 8, 16, 16]
//   parameters: conv.weight float32 [8, 1, 3, 3], conv.bias float32 [8]
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

__device__ __forceinline__ float MinOf(float a, float b) { return a < b || a != a ? a : b; }

// add_channel_bias, mul, hardswish: 4096 elements.
__global__ void __launch_bounds__(256)
add_channel_bias_mul_hardswish_kernel(const float* __restrict__ conv2d_without_bias,
    const float* __restrict__ conv_bias, float* __restrict__ hardswish_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> hardswish_out_pack;
    const Pack<float, kVector> conv2d_without_bias_pack = Load<kVector>(conv2d_without_bias + i);
    const float conv_bias_value = conv_bias[i / 256 % 8];
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float conv2d = conv2d_without_bias_pack.at[k] + conv_bias_value;
      const float mul = conv2d * 3.0f;
      const float hardswish = mul * MinOf(MaxOf(mul + 3.0f, 0.0f), 6.0f) * 0.16666667f;
      hardswish_out_pack.at[k] = hardswish;
    }
    Store(hardswish_out + i, hardswish_out_pack);
  }
}
