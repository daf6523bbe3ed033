/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Loops that unroll to more code than anyone compiles.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  float s = 0;
#pragma unroll
  for (int a = 0; a < 2048; ++a)
#pragma unroll
    for (int b = 0; b < 2048; ++b) s += x[(a * 2048LL + b * i) % n];
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + s * 0.0f;
}
