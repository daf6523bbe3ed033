/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(weight.size(1), 16)", "ceil_div(x.size(0), 16)"], "block": [16, 16],
     "args": ["$x", "$weight", "$bias", "$out0", {"i32": "x.size(0)"}, {"i32": "weight.size(1)"}, {"i32": "x.size(1)"}, {"f32": 1.5}]}
  ]
}
*/
// For benchmarks/problems/matmul_bias_act.py at any size: a tiled product with its epilogue.
__global__ void f(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                  float* __restrict__ y, int rows, int columns, int inner, float scale) {
  __shared__ float left[16][17], right[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < inner; start += 16) {
    const int across = start + threadIdx.x;
    const int down = start + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < rows && across < inner ? x[row * inner + across] : 0.0f;
    right[threadIdx.y][threadIdx.x] = down < inner && column < columns ? weight[down * columns + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  if (row >= rows) return;
  if (column >= columns) return;
  const float z = (sum + bias[column]) * scale;
  const float gate = 1.0f / (1.0f + expf(-z));
  y[row * columns + column] = z * gate;
}
