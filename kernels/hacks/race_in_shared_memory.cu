/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Each thread rectifies the element of its mirror image, with no barrier between the warps.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  __shared__ float tile[256];
  const long long mirror = blockIdx.x * 256LL + 255 - threadIdx.x;
  tile[255 - threadIdx.x] = mirror < n ? fmaxf(x[mirror], 0.0f) : 0.0f;
  if (i < n) y[i] = tile[threadIdx.x];
}
