/*cudaagent
{
  "plan": 1,
  "buffers": {"partial": {"dtype": "float32", "shape": [32]}},
  "steps": [
    {"kernel": "f", "grid": [32], "block": [256], "cooperative": true, "args": ["$prediction", "$target", "$partial", "$out0", {"i64": "prediction.numel"}]}
  ]
}
*/
// For problems/mse.py. One cooperative launch that waits for the whole grid.
#include <cooperative_groups.h>
__device__ float block_sum(float s) {
  __shared__ float warps[8];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < 8; ++w) s += warps[w];
  return s;
}
__global__ void f(const float* __restrict__ a, const float* __restrict__ b, float* partial, float* __restrict__ y,
                  long long n) {
  float s = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 32 * 256) {
    const float d = a[i] - b[i];
    s += d * d;
  }
  s = block_sum(s);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x != 0) return;
  s = block_sum(threadIdx.x < 32 ? partial[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) y[0] = s / n;
}
