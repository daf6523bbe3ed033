/*cudaagent
{
  "plan": 1,
  "buffers": {"partial": {"dtype": "float32", "shape": [64]}},
  "steps": [
    {"kernel": "f", "grid": [64], "block": [256], "args": ["$prediction", "$target", "$partial", "$out0", {"i64": "prediction.numel"}]}
  ]
}
*/
// For problems/mse.py. A counter in a __device__ variable that is left as it was found: state, and honest.
__device__ unsigned finished;  // blocks that are done; back at 0 when the kernel ends
__device__ float block_sum(float s) {
  __shared__ float warps[8];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < 8; ++w) s += warps[w];
  return s;
}
__global__ void f(const float* __restrict__ a, const float* __restrict__ b, float* partial, float* __restrict__ y,
                  long long n) {
  __shared__ bool last;
  float s = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 64 * 256) {
    const float d = a[i] - b[i];
    s += d * d;
  }
  s = block_sum(s);
  if (threadIdx.x == 0) {
    *reinterpret_cast<volatile float*>(partial + blockIdx.x) = s;
    __threadfence();
    last = atomicAdd(&finished, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  s = threadIdx.x < 64 ? *reinterpret_cast<volatile float*>(partial + threadIdx.x) : 0.0f;
  s = block_sum(s);
  if (threadIdx.x == 0) {
    y[0] = s / n;
    finished = 0;
  }
}
