// B = A transposed, through a padded tile.
extern "C" __global__ void transpose(const float* a, float* b, int n) {
  __shared__ float tile[32][33];
  int x = threadIdx.x, y = threadIdx.y, column = 32 * blockIdx.x, row = 32 * blockIdx.y;
  for (int i = y; i < 32; i += 8) tile[i][x] = a[(row + i) * n + column + x];
  __syncthreads();
  for (int i = y; i < 32; i += 8) b[(column + i) * n + row + x] = tile[x][i];
}
