/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "relu", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// KernelBench 1/19, as in relu.py.
__global__ void relu(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
