// C = A B, square, in halves: 64 x 64 of C per block, 16 x 64 per warp, tiles converted in shared memory.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ alignas(32) __half ta[64][16], tb[16][64];
  int t = threadIdx.x, warp = t / 32, row = blockIdx.y * 64, col = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(sum[i], 0.0f);
  for (int k = 0; k < n; k += 16) {
    for (int i = t; i < 1024; i += 128) {
      ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
      tb[i / 64][i % 64] = b[(k + i / 64) * n + col + i % 64];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::load_matrix_sync(fa, &ta[16 * warp][0], 16);
    for (int i = 0; i < 4; ++i) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
      wmma::load_matrix_sync(fb, &tb[0][16 * i], 64);
      wmma::mma_sync(sum[i], fa, fb, sum[i]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    wmma::store_matrix_sync(c + (row + 16 * warp) * n + col + 16 * i, sum[i], n, wmma::mem_row_major);
}
