/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Templates without an end.
template <int N> struct Bomb { Bomb<2 * N> left; Bomb<2 * N + 1> right; };
template <int N> __device__ int grow() { return grow<2 * N>() + grow<2 * N + 1>(); }
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + grow<1>();
}
