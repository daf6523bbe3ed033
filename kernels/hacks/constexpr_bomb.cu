/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. A constant that takes for ever.
constexpr long long spin(long long n) { long long s = 0; for (long long i = 0; i < n; ++i) s += i * i % 7; return s; }
constexpr long long kForever = spin(1LL << 60);
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + kForever;
}
