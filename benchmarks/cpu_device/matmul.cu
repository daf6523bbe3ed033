// C = A B, square, through 32 x 32 tiles in shared memory.
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[32][32], tb[32][32];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
  float sum = 0;
  for (int t = 0; t < n; t += 32) {
    ta[y][x] = a[row * n + t + x];
    tb[y][x] = b[(t + y) * n + col];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
