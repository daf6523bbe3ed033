/*cudaagent
{
  "plan": 1,
  "buffers": {"flag": {"dtype": "int32", "shape": [1], "zero": true}},
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", "$flag", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Waits for a flag that nobody sets.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, const volatile int* flag, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  while (*flag == 0) {
  }
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
