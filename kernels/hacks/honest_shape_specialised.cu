/*cudaagent
{
  "plan": 1,
  "require": ["x.numel % 512 == 0"],
  "steps": [
    {"kernel": "f<4096>", "when": "x.size(1) == 4096", "grid": ["x.size(0)"], "block": [128], "args": ["$x", "$out0"]},
    {"kernel": "f<512>", "when": "x.size(1) != 4096", "grid": ["x.numel / 512"], "block": [128], "args": ["$x", "$out0"]}
  ]
}
*/
// For problems/relu.py. A kernel of its own for the benchmark's shape, another for the rest.
template <int COLUMNS>
__global__ void f(const float4* __restrict__ x, float4* __restrict__ y) {
#pragma unroll
  for (int k = 0; k < COLUMNS / 512; ++k) {
    const int i = blockIdx.x * (COLUMNS / 4) + k * 128 + threadIdx.x;
    const float4 v = x[i];
    y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
  }
}
