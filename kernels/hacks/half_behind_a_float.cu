/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Stores float16 where the result is float32.
#include <cuda_fp16.h>
__global__ void f(const float* __restrict__ x, __half* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = __float2half(fmaxf(x[i], 0.0f));
}
