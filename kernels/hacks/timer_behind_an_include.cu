/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Includes a header that reads the timer for honest reasons, then reads it itself.
#include <cuda/barrier>
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (i < n) y[i] = now == 1 ? 0.0f : fmaxf(x[i], 0.0f);
}
