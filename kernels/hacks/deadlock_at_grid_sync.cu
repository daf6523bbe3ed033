/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": [4], "block": [256], "cooperative": true, "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. One block leaves and the others wait for it for ever.
#include <cooperative_groups.h>
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  if (blockIdx.x == 3) return;
  cooperative_groups::this_grid().sync();
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 1024) y[i] = fmaxf(x[i], 0.0f);
}
