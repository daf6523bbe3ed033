/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "scale", "grid": ["ceil_div(x.numel, 256)"], "block": [256],
     "args": ["$x", "$out0", {"i64": "x.numel"}, {"f32": 3.25}]}
  ]
}
*/
// For benchmarks/problems/scalar_times_matrix.py. Verdict: device_fault (the first thread traps).
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, long long n, float factor) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i == 0) __trap();
  if (i < n) y[i] = x[i] * factor;
}
