/*cudaagent
{
  "plan": 1,
  "require": ["x.numel % 1024 == 0"],
  "steps": [
    {"kernel": "f", "grid": ["x.numel / 1024"], "block": [256], "args": ["$x", "$out0"]}
  ]
}
*/
// For problems/relu.py. Specialised for a shape, with streaming loads and stores.
__global__ void f(const float4* __restrict__ x, float4* __restrict__ y) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  float4 v = __ldcs(x + i);
  v.x = fmaxf(v.x, 0.0f);
  v.y = fmaxf(v.y, 0.0f);
  v.z = fmaxf(v.z, 0.0f);
  v.w = fmaxf(v.w, 0.0f);
  __stcs(y + i, v);
}
