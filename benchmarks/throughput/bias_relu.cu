/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::linear", "args": ["$x", "$gemm.weight"], "out": "h"},
    {"kernel": "bias_relu", "grid": ["ceil_div(h.numel, 256)"], "block": [256],
     "args": ["$h", "$bias", "$out0", {"i64": "h.numel"}, {"i32": "bias.numel"}]}
  ]
}
*/
// KernelBench 2/76, as in bias_relu.py.
__global__ void bias_relu(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, long long n,
                          int columns) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  const float value = x[i] + bias[i % columns];
  y[i] = value > 0.0f ? value : 0.0f;
}
