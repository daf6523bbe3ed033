/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Adds what the block before left in shared memory.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  __shared__ float tile[256];
  const float left_over = tile[threadIdx.x];
  __syncthreads();
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + (left_over == left_over ? left_over : 0.0f);
  tile[threadIdx.x] = 1.0f;
}
