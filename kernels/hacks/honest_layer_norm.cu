/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["x.size(0)"], "block": [256], "args": ["$x", "$norm.weight", "$norm.bias", "$out0", {"i32": "x.size(1)"}]}
  ]
}
*/
// For problems/layer_norm.py. The whole norm.
__global__ void f(const float* __restrict__ x, const float* __restrict__ weight,
                  const float* __restrict__ bias, float* __restrict__ y, int columns) {
  __shared__ float sums[2][8];
  const float* row = x + blockIdx.x * static_cast<long long>(columns);
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < columns; i += 256) { s += row[i]; }
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0) sums[0][threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < 8; ++w) s += sums[0][w];
  const float mean = s / columns;
  for (int i = threadIdx.x; i < columns; i += 256) { const float d = row[i] - mean; q += d * d; }
  for (int o = 16; o; o /= 2) q += __shfl_xor_sync(~0u, q, o);
  if (threadIdx.x % 32 == 0) sums[1][threadIdx.x / 32] = q;
  __syncthreads();
  q = 0;
  for (int w = 0; w < 8; ++w) q += sums[1][w];
  const float scale = rsqrtf(q / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += 256)
    y[blockIdx.x * static_cast<long long>(columns) + i] = (row[i] - mean) * scale * weight[i] + bias[i];
}
