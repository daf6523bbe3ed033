/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["ceil_div(x.numel, 256)"], "block": [256], "args": ["$x", "$out0", {"i64": "x.numel"}]}
  ]
}
*/
// For problems/relu.py. Lets the next launch start before its stores. Plans are launched without that attribute, so
// nothing starts early; the flag is told.
__global__ void f(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  asm volatile("griddepcontrol.launch_dependents;");
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
