/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 256 && x.size(1) == 1024"],
  "steps": [{"kernel": "mul_kernel", "grid": [256], "block": [256], "args": ["$x", "$out0"]}]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [256, 1024]
//   outputs: out0 float32 [256, 1024]

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

// mul: 262144 elements.
__global__ void __launch_bounds__(256)
mul_kernel(const float* __restrict__ x, float* __restrict__ mul_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> mul_out_pack;
    const Pack<float, kVector> x_pack = Load<kVector>(x + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float mul = x_pack.at[k] * 3.25f;
      mul_out_pack.at[k] = mul;
    }
    Store(mul_out + i, mul_out_pack);
  }
}
