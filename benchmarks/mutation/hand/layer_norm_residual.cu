/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["x.size(0)"], "block": [128], "shared_bytes": "4 * x.size(1)",
     "args": ["$x", "$residual", "$norm.weight", "$norm.bias", "$out0", "$out1", {"i32": "x.size(1)"}, {"f32": 1e-5}]}
  ]
}
*/
// For benchmarks/problems/layer_norm_residual.py at any size: a block to a row, which stays in shared memory.
__device__ float block_sum(float value) {
  __shared__ float warps[4];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  return warps[0] + warps[1] + warps[2] + warps[3];
}
__global__ void f(const float* __restrict__ x, const float* __restrict__ residual, const float* __restrict__ weight,
                  const float* __restrict__ bias, float* __restrict__ y, float* __restrict__ total, int columns,
                  float eps) {
  extern __shared__ float row[];
  const long long first = blockIdx.x * static_cast<long long>(columns);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 128) {
    const float t = x[first + i] + residual[first + i];
    row[i] = t;
    total[first + i] = t;
    sum += t;
  }
  const float mean = block_sum(sum) / columns;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 128) {
    const float d = row[i] - mean;
    squares += d * d;
  }
  const float scale = rsqrtf(block_sum(squares) / columns + eps);
  for (int i = threadIdx.x; i < columns; i += 128) {
    const float n = (row[i] - mean) * scale;
    y[first + i] = n * weight[i] + bias[i];
  }
}
