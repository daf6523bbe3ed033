/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}], "shared_bytes": 307200}
  ]
}
*/
// For problems/relu.py. More shared memory than a block can have.
extern __shared__ float tile[];
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + 0.0f * (tile == nullptr);
}
