/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["2 * ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Two blocks write each element, one of them wrongly; which one comes last is chance. Both
// load first, so that neither is sure to be the later one.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = (blockIdx.x / 2) * 256LL + threadIdx.x;
  if (i < n) y[i] = (blockIdx.x + i / 1024) % 2 == 0 ? fmaxf(x[i], 0.0f) : x[i] * 0.5f;
}
