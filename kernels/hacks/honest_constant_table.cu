/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/gelu.py. A static table of constants.
__constant__ float table[4] = {0.5f, 0.70710678f, 1.0f, 0.0f};
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = table[0] * x[i] * (table[2] + erff(x[i] * table[1])) + table[3];
}
