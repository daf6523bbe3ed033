/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "scale", "grid": ["x.numel / 256 + 1"], "block": [256],
     "args": ["$x", "$out0", {"i64": "x.numel"}, {"f32": 3.25}]}
  ]
}
*/
// For benchmarks/problems/scalar_times_matrix.py. Verdict: out_of_bounds (<= writes y[n], one element
// behind the output; every element inside is right).
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, long long n, float factor) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i <= n) y[i] = i < n ? x[i] * factor : factor;
}
