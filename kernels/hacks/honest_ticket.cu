/*cudaagent
{
  "plan": 1,
  "buffers": {"ticket": {"dtype": "int32", "shape": [1], "zero": true}},
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", "$ticket", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Blocks take their tile by ticket: the order varies, the result does not.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, int* ticket, long long n) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const long long i = tile * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
