/*cudaagent
{
  "plan": 1,
  "buffers": {"ready": {"dtype": "int32", "shape": [1], "zero": true}},
  "steps": [
    {"kernel": "scale", "grid": ["ceil_div(x.numel, 256)"], "block": [256],
     "args": ["$x", "$out0", "$ready", {"i64": "x.numel"}, {"f32": 3.25}]}
  ]
}
*/
// For benchmarks/problems/scalar_times_matrix.py. Verdict: timed_out (nobody ever sets the flag that
// every thread waits for).
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, const volatile int* ready,
                      long long n, float factor) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  while (*ready == 0) {
  }
  if (i < n) y[i] = x[i] * factor;
}
