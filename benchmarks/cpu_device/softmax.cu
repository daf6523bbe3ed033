// One block per row: maximum, sum and quotient, reduced by shuffles and one shared array.
extern "C" __global__ void softmax(const float* x, float* y, int n) {
  __shared__ float part[32];
  const float* row = x + (size_t)blockIdx.x * n;
  float* out = y + (size_t)blockIdx.x * n;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float top = -1.0f / 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, row[i]);
  for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
  if (lane == 0) part[warp] = top;
  __syncthreads();
  top = lane < blockDim.x / 32 ? part[lane] : -1.0f / 0.0f;
  for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __expf(row[i] - top);
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  sum = lane < blockDim.x / 32 ? part[lane] : 0;
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = __expf(row[i] - top) / sum;
}
