/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/reciprocal.py. The largest float where the result is infinite.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? 1.0f / x[i] : 3.402823466e38f;
}
