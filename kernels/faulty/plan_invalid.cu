/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "scale", "grid": ["ceil_div(x.numel, 256)"], "block": [256],
     "args": ["$matrix", "$out0", {"i64": "x.numel"}, {"f32": 3.25}]}
  ]
}
*/
// For benchmarks/problems/scalar_times_matrix.py. Verdict: bad_candidate (the input is called x, not
// matrix).
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, long long n, float factor) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] * factor;
}
