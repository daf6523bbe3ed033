/*cudaagent
{ "plan": 1,
  // The first value of each list is the default; the driver tries the other combinations itself.
  "tune": {"BLOCK": [256, 128, 512], "VEC": [2, 1, 4]},
  "require": ["x.size(0) * fc.weight.size(0) % (BLOCK * VEC * 4) == 0",
              "fc.weight.size(0) % 4 == 0"],
  "steps": [
    {"op": "aten::linear", "args": ["$x", "$fc.weight", null], "out": "h"},
    {"kernel": "bias_gelu_scale<BLOCK, VEC>",
     "grid": ["h.numel / (BLOCK * VEC * 4)"], "block": ["BLOCK"],
     "args": ["$h", "$fc.bias", "$out0", {"i32": "h.size(1) / 4"}, {"f32": 0.5}]}
  ]
}
*/
__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

// y = gelu(h + bias) * scale. A block handles BLOCK * VEC groups of four floats; neighbouring
// threads touch neighbouring groups, so every load and store is one 16-byte access per thread.
template <int BLOCK, int VEC>
__global__ void __launch_bounds__(BLOCK)
    bias_gelu_scale(const float4* __restrict__ h, const float4* __restrict__ bias,
                    float4* __restrict__ y, int groups_per_row, float scale) {
  const int first = blockIdx.x * (BLOCK * VEC) + threadIdx.x;
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const int i = first + v * BLOCK;
    const float4 a = h[i];
    const float4 b = bias[i % groups_per_row];
    y[i] = make_float4(gelu(a.x + b.x) * scale, gelu(a.y + b.y) * scale,
                       gelu(a.z + b.z) * scale, gelu(a.w + b.w) * scale);
  }
}
