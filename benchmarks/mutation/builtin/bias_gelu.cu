/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 128 && x.size(1) == 512"],
  "steps": [
    {"kernel": "add_gelu_mul_kernel", "grid": [64], "block": [256],
     "args": ["$x", "$bias", "$gain", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [128, 512]
//   parameters: bias float32 [512], gain float32 [512]
//   outputs: out0 float32 [128, 512]

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

__device__ __forceinline__ float Gelu(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

// add, gelu, mul: 65536 elements.
__global__ void __launch_bounds__(256)
add_gelu_mul_kernel(const float* __restrict__ x,
    const float* __restrict__ bias, const float* __restrict__ gain, float* __restrict__ mul_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> mul_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
    const Pack<float, kVector> bias_pack = Load<kVector>(bias + i % 512);
    const Pack<float, kVector> gain_pack = Load<kVector>(gain + i % 512);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float add = x_pack.at[k] + bias_pack.at[k];
      const float gelu = Gelu(add);
      const float mul = gelu * gain_pack.at[k];
      mul_out_pack.at[k] = mul;
    }
    Store(mul_out + i, mul_out_pack);
  }
}
