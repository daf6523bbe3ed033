/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 16 && x.size(1) == 64"],
  "buffers": {
    "gelu": {"dtype": "float32", "shape": [16, 128]},
    "gelu_1": {"dtype": "float32", "shape": [16, 128]}
  },
  "steps": [
    {"op": "aten::linear", "args": ["$x", "$layers.0.weight", "$layers.0.bias"], "out": "linear"},
    {"kernel": "gelu_kernel", "grid": [2], "block": [256], "args": ["$linear", "$gelu"]},
    {"op": "aten::linear", "args": ["$gelu", "$layers.2.weight", "$layers.2.bias"],
     "out": "linear_1"},
    {"kernel": "gelu_kernel", "grid": [2], "block": [256], "args": ["$linear_1", "$gelu_1"]},
    {"op": "aten::linear", "args": ["$gelu_1", "$layers.4.weight", "$layers.4.bias"], "out": "out0"}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [16, 64]
//   parameters: layers.0.weight float32 [128, 64], layers.0.bias float32 [128],
//     layers.2.weight float32 [128, 128], layers.2.bias float32 [128],
//     layers.4.weight float32 [32, 128], layers.4.bias float32 [32]
//   outputs: out0 float32 [16, 32]

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

// gelu: 2048 elements.
__global__ void __launch_bounds__(256)
gelu_kernel(const float* __restrict__ linear,
    float* __restrict__ gelu_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> gelu_out_pack;
    const Pack<float, kVector> linear_pack = Load<kVector>(linear + i);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float gelu = Gelu(linear_pack.at[k]);
      gelu_out_pack.at[k] = gelu;
    }
    Store(gelu_out + i, gelu_out_pack);
  }
}
