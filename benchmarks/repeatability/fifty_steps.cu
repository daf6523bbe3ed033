/*cudaagent
{
  "plan": 1,
  "steps": [
    {"repeat": "i", "from": 0, "count": 50, "steps": [
      {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}]}
  ]
}
*/
// For kernels/hacks/problems/relu.py: the same step fifty times, a graph of fifty nodes.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
