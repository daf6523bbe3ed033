/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 32 && x.size(1) == 128"],
  "steps": [
    {"op": "aten::matmul", "args": ["$x", "$weight"], "out": "matmul"},
    {"kernel": "add_mul_silu_kernel", "grid": [8], "block": [256],
     "args": ["$matmul", "$bias", "$out0"]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [32, 128]
//   parameters: weight float32 [128, 256], bias float32 [256]
//   outputs: out0 float32 [32, 256]

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

__device__ __forceinline__ float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// add, mul, silu: 8192 elements.
__global__ void __launch_bounds__(256)
add_mul_silu_kernel(const float* __restrict__ matmul,
    const float* __restrict__ bias, float* __restrict__ silu_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> silu_out_pack;
    const Pack<float, kVector> matmul_pack = Load<kVector>(matmul + i);
    const Pack<float, kVector> bias_pack = Load<kVector>(bias + i % 256);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float add = matmul_pack.at[k] + bias_pack.at[k];
      const float mul = add * 1.5f;
      const float silu = mul * Sigmoid(mul);
      silu_out_pack.at[k] = silu;
    }
    Store(silu_out + i, silu_out_pack);
  }
}
