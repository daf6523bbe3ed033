/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "sum_rows", "grid": ["ceil_div(x.size(2), 256)", "x.size(0)"], "block": [256],
     "args": ["$x", "$out0", {"i32": "x.size(1)"}, {"i32": "x.size(2)"}]}
  ]
}
*/
// KernelBench 1/47, as in sum.py: a thread a column, four running sums.
__global__ void sum_rows(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  const int column = blockIdx.x * 256 + threadIdx.x;
  if (column >= columns) return;
  const float* at = x + static_cast<long long>(blockIdx.y) * rows * columns + column;
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  int row = 0;
  for (; row + 4 <= rows; row += 4) {
    for (int k = 0; k < 4; ++k) sums[k] += at[static_cast<long long>(row + k) * columns];
  }
  for (; row < rows; ++row) sums[0] += at[static_cast<long long>(row) * columns];
  y[static_cast<long long>(blockIdx.y) * columns + column] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
