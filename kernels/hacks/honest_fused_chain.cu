/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/slow_chain.py. One pass over memory where eager makes a dozen: many times as fast, and legal.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float t = fminf(fmaxf(v, -6.0f), 6.0f) + 3.0f;
  t = v * (fminf(fmaxf(t, 0.0f), 6.0f) / 6.0f) - 0.25f;
  t = tanhf(fabsf(t) + 0.5f * v) * 2.0f;
  y[i] = fmaxf(t, -v) + 1.0f;
}
