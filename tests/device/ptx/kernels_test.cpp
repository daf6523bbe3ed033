// Whole kernels, compiled by NVRTC, against references in host C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

std::vector<float> Ramp(size_t n, float from, float to) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = from + (to - from) * static_cast<float>((i * 7919) % n) / static_cast<float>(n);
  return v;
}

TEST(PtxKernels, AddsVectorsOfAnyLength) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
})"));
  constexpr int kN = 10'007;
  Buffer<float> a{"a", Ramp(kN, -3, 5), false}, b{"b", Ramp(kN, 1, 2), false},
      c{"c", std::vector<float>(kN), true, false};
  bench.With(a).With(b).With(c).Arg(kN);
  ASSERT_EQ(bench.Say("add", {(kN + 255) / 256, 1, 1}, {256, 1, 1}), "ok");
  for (int i = 0; i < kN; ++i) ASSERT_EQ(c.data[i], a.data[i] + b.data[i]) << i;
  KernelCounters counters = bench.Counted();
  EXPECT_EQ(counters.launches, 1);
  EXPECT_EQ(counters.global_bytes, 3 * 4 * kN);
  // 32 lanes of 4 bytes are four sectors, one more where the buffer does not begin at one.
  EXPECT_GE(counters.global_sectors, 3 * ((4 * kN + 31) / 32));
  EXPECT_LE(counters.global_sectors, 3 * (5 * ((kN + 31) / 32)));
}

TEST(PtxKernels, SoftmaxWithShufflesAndSharedMemory) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
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
})"));
  constexpr int kRows = 1024, kN = 4096;
  Buffer<float> x{"x", Ramp(kRows * kN, -4, 4), false},
      y{"y", std::vector<float>(kRows * kN), true, false};
  bench.With(x).With(y).Arg(kN);
  std::clock_t start = std::clock();
  ASSERT_EQ(bench.Say("softmax", {kRows, 1, 1}, {256, 1, 1}), "ok");
  std::printf("softmax 1024x4096: %.1f ms\n",
              1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  for (int r = 0; r < kRows; r += 101) {
    const float* row = x.data.data() + r * kN;
    double top = *std::max_element(row, row + kN), sum = 0;
    for (int i = 0; i < kN; ++i) sum += std::exp(row[i] - top);
    for (int i = 0; i < kN; ++i) {
      ASSERT_NEAR(y.data[r * kN + i], std::exp(row[i] - top) / sum,
                  2e-6 * std::exp(row[i] - top) / sum + 1e-12);
    }
  }
}

TEST(PtxKernels, MultipliesMatricesThroughSharedTiles) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
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
})"));
  constexpr int kN = 512;
  Buffer<float> a{"a", Ramp(kN * kN, -1, 1), false}, b{"b", Ramp(kN * kN, 1, -1), false},
      c{"c", std::vector<float>(kN * kN), true, false};
  bench.With(a).With(b).With(c).Arg(kN);
  std::clock_t start = std::clock();
  ASSERT_EQ(bench.Say("matmul", {kN / 32, kN / 32, 1}, {32, 32, 1}), "ok");
  std::printf("matmul 512: %.1f ms\n",
              1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  for (int r = 0; r < kN; r += 61) {
    for (int col = 0; col < kN; ++col) {
      float sum = 0;
      for (int k = 0; k < kN; ++k) sum = std::fma(a.data[r * kN + k], b.data[k * kN + col], sum);
      ASSERT_EQ(c.data[r * kN + col], sum) << r << "," << col;
    }
  }
  KernelCounters counters = bench.Counted();
  EXPECT_EQ(counters.shared_wavefronts, counters.shared_requests);
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
