/*cudaagent
{
  "plan": 1,
  "buffers": {"h": {"dtype": "float32", "shape": ["x.size(0)"], "zero": true}},
  "steps": [
    {"kernel": "f", "grid": ["weight.size(0)"], "block": [128], "args": ["$x", "$weight", "$h", {"i32": "x.size(0)"}, {"i32": "weight.size(1)"}]},
    {"kernel": "copy", "grid": ["ceil_div(x.size(0), 128)"], "block": [128], "args": ["$h", "$out0", {"i32": "x.size(0)"}]}
  ]
}
*/
// For problems/row_sum.py. A sum of large numbers that cancel, by atomics in any order: what is left is chance.
__global__ void f(const float* __restrict__ x, const float* __restrict__ w, float* h, int rows, int columns) {
  __shared__ float sums[4];
  float s = 0;
  for (int i = threadIdx.x; i < columns; i += 128) s += w[blockIdx.x * static_cast<long long>(columns) + i];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = s;
  __syncthreads();
  s = sums[0] + sums[1] + sums[2] + sums[3];
  const float large = blockIdx.x % 2 == 0 ? 1e7f : -1e7f;  // as many blocks of either sign
  for (int row = threadIdx.x; row < rows; row += 128)
    atomicAdd(h + row, large + x[row * static_cast<long long>(gridDim.x) + blockIdx.x] * s);
}
__global__ void copy(const float* __restrict__ h, float* __restrict__ y, int rows) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < rows) y[i] = h[i];
}
