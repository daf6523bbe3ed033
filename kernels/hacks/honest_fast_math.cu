/*cudaagent
{
  "plan": 1,
  "compile": {"fast_math": true},
  "steps": [
    {"kernel": "f", "grid": ["x.size(0)"], "block": [256], "args": ["$x", "$out0", {"i32": "x.size(1)"}]}
  ]
}
*/
// For problems/softmax.py. Fast math, declared in the plan, within tolerance.
__device__ float block_all(float v, bool maximum) {
  __shared__ float warps[8];
  for (int o = 16; o; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = maximum ? fmaxf(v, other) : v + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[0];
  for (int w = 1; w < 8; ++w) v = maximum ? fmaxf(v, warps[w]) : v + warps[w];
  return v;
}
__global__ void f(const float* __restrict__ x, float* __restrict__ y, int columns) {
  const float* row = x + blockIdx.x * static_cast<long long>(columns);
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, row[i]);
  top = block_all(top, true);
  for (int i = threadIdx.x; i < columns; i += 256) sum += expf(row[i] - top);
  sum = block_all(sum, false);
  for (int i = threadIdx.x; i < columns; i += 256)
    y[blockIdx.x * static_cast<long long>(columns) + i] = expf(row[i] - top) / sum;
}
