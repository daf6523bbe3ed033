/*cudaagent
{
  "plan": 1,
  "steps": [
    {"kernel": "f", "grid": ["b.size(1) / 16", "a.size(0) / 16"], "block": [16, 16], "args": ["$a", "$b", "$out0", {"i32": "a.size(0)"}, {"i32": "b.size(1)"}, {"i32": "a.size(1)"}]}
  ]
}
*/
// For problems/matmul.py. Rounds operands to TF32: honest under the policy tf32, precision stolen under fp32.
__device__ float narrow(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}
__global__ void f(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n,
                  int k) {
  __shared__ float ta[16][16], tb[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    ta[threadIdx.y][threadIdx.x] = narrow(a[row * k + k0 + threadIdx.x]);
    tb[threadIdx.y][threadIdx.x] = narrow(b[(k0 + threadIdx.y) * n + column]);
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
