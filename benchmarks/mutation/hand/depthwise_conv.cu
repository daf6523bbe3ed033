/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.size(3), 16)", "ceil_div(x.size(2), 16)", "x.size(0) * x.size(1)"], "block": [16, 16],
     "args": ["$x", "$conv.weight", "$conv.bias", "$out0", {"i32": "x.size(1)"}, {"i32": "x.size(2)"}, {"i32": "x.size(3)"}]}
  ]
}
*/
// For benchmarks/problems/depthwise_conv.py at any size: a 3x3 stencil over a tile with its halo in shared memory.
__global__ void f(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                  float* __restrict__ y, int channels, int height, int width) {
  __shared__ float tile[18][18];
  const int channel = blockIdx.z % channels;
  const float* plane = x + blockIdx.z * height * width;
  const int top = blockIdx.y * 16 - 1;
  const int left = blockIdx.x * 16 - 1;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 324; i += 256) {
    const int r = top + i / 18;
    const int c = left + i % 18;
    const bool inside = r >= 0 && r < height && c >= 0 && c < width;
    tile[i / 18][i % 18] = inside ? plane[r * width + c] : 0.0f;
  }
  __syncthreads();
  const int r = blockIdx.y * 16 + threadIdx.y;
  const int c = blockIdx.x * 16 + threadIdx.x;
  if (r >= height) return;
  if (c >= width) return;
  float sum = bias[channel];
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx)
      sum += tile[threadIdx.y + dy][threadIdx.x + dx] * weight[channel * 9 + dy * 3 + dx];
  const float z = 3.0f * sum;
  const float gate = fminf(fmaxf(z + 3.0f, 0.0f), 6.0f);
  y[blockIdx.z * height * width + r * width + c] = z * gate / 6.0f;
}
