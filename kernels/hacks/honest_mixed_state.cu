/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]},
    {"kernel": "count", "grid": [1], "block": [1], "args": []}
  ]
}
*/
// For problems/relu.py. Counts its calls and does nothing with it.
__device__ int calls;
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
__global__ void count() { ++calls; }
