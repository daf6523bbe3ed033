/*cudaagent
{
  "plan": 1,
  "require": ["x.size(0) == 4 && x.size(1) == 8 && x.size(2) == 16"],
  "steps": [
    {"op": "aten::zeros", "args": [[2, 4, 32]], "kwargs": {"dtype": "float32"}, "out": "zeros"},
    {"op": "aten::gru.input",
     "args": ["$x", "$zeros",
      ["$gru.weight_ih_l0", "$gru.weight_hh_l0", "$gru.bias_ih_l0", "$gru.bias_hh_l0",
       "$gru.weight_ih_l1", "$gru.weight_hh_l1", "$gru.bias_ih_l1", "$gru.bias_hh_l1"],
      true, 2, 0.0, false, false, true],
     "out": ["getitem", "getitem_1"]},
    {"kernel": "mul_sigmoid_mul_kernel", "grid": [1], "block": [256],
     "args": [{"ptr": "$getitem", "strided": true}, "$gate", {"ptr": "$out0", "strided": true}]}
  ]
}
*/
// Written by cudaagent's built-in rules (docs/builtin_proposer.md).
//   inputs: x float32 [4, 8, 16]
//   parameters: gate float32 [32], gru.weight_ih_l0 float32 [96, 16],
//     gru.weight_hh_l0 float32 [96, 32], gru.bias_ih_l0 float32 [96],
//     gru.bias_hh_l0 float32 [96], gru.weight_ih_l1 float32 [96, 32],
//     gru.weight_hh_l1 float32 [96, 32], gru.bias_ih_l1 float32 [96], gru.bias_hh_l1 float32 [96]
//   outputs: out0 float32 [4, 8, 32]

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

// mul, sigmoid, mul: 1024 elements.
__global__ void __launch_bounds__(256)
mul_sigmoid_mul_kernel(const float* __restrict__ getitem,
    const float* __restrict__ gate, float* __restrict__ mul_1_out) {
  constexpr int kThreads = 256;
  constexpr int kUnroll = 1;  // such groups per thread, loaded before the first is used
  constexpr int kVector = 4;  // neighbouring elements a thread takes at once
  const unsigned first = (blockIdx.x * (kThreads * kUnroll) + threadIdx.x) * kVector;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const unsigned i = first + u * (kThreads * kVector);
    Pack<float, kVector> mul_1_out_pack;
    const Pack<float, kVector> getitem_pack = Load<kVector>(getitem + i / 32 % 4 * 32 + i / 128 * 128 + i % 32);
    const Pack<float, kVector> gate_pack = Load<kVector>(gate + i % 32);
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const float mul = getitem_pack.at[k] * gate_pack.at[k];
      const float sigmoid = Sigmoid(mul);
      const float mul_1 = getitem_pack.at[k] * sigmoid;
      mul_1_out_pack.at[k] = mul_1;
    }
    Store(mul_1_out + i, mul_1_out_pack);
  }
}
