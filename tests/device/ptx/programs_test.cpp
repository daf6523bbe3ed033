// What kernels do with the machine: atomics, barriers, calls, divergence, printf, cooperation,
// counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

int64_t UlpsApart(float a, double exact) {
  float b = static_cast<float>(exact);
  if (std::isnan(a) && std::isnan(b)) return 0;
  auto order = [](float x) {
    int32_t bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? -static_cast<int64_t>(bits & 0x7fffffff) : static_cast<int64_t>(bits);
  };
  return std::abs(order(a) - order(b));
}

TEST(PtxPrograms, MathLibraryStaysWithinItsDocumentedUlps) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void math(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = expf(v);
  y[n + i] = logf(fabsf(v) + 0.01f);
  y[2 * n + i] = sinf(v);
  y[3 * n + i] = tanhf(v);
  y[4 * n + i] = erff(v);
  y[5 * n + i] = powf(fabsf(v), 1.7f);
  y[6 * n + i] = log1pf(fabsf(v));
  y[7 * n + i] = sinf(v * 1.0e5f);
  y[8 * n + i] = rsqrtf(fabsf(v) + 0.001f);
  y[9 * n + i] = v / (fabsf(v) + 0.3f);
})"));
  constexpr int kN = 4000;
  Buffer<float> x{"x", std::vector<float>(kN), false},
      y{"y", std::vector<float>(10 * kN), true, false};
  for (int i = 0; i < kN; ++i) x.data[i] = static_cast<float>(i - kN / 2) / 200.0f;
  bench.With(x).With(y).Arg(kN);
  ASSERT_EQ(bench.Say("math", {16, 1, 1}, {256, 1, 1}), "ok");
  struct Row {
    const char* name;
    int64_t ulps;  // CUDA programming guide, single-precision functions; rsqrtf and / are 2 and 0
    std::function<double(double)> exact;
  };
  auto narrow = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  std::vector<Row> rows = {
      {"expf", 1, [](double v) { return std::exp(v); }},
      {"logf", 1,
       [&](double v) { return std::log(narrow(static_cast<float>(std::fabs(v)) + 0.01f)); }},
      {"sinf", 2, [](double v) { return std::sin(v); }},
      {"tanhf", 2, [](double v) { return std::tanh(v); }},
      {"erff", 2, [](double v) { return std::erf(v); }},
      {"powf", 4, [](double v) { return std::pow(std::fabs(v), static_cast<double>(1.7f)); }},
      {"log1pf", 2, [](double v) { return std::log1p(std::fabs(v)); }},
      {"sinf of large", 2,
       [](double v) { return std::sin(static_cast<double>(static_cast<float>(v) * 1.0e5f)); }},
      {"rsqrtf", 2,
       [](double v) {
         return 1 / std::sqrt(static_cast<double>(static_cast<float>(std::fabs(v)) + 0.001f));
       }},
      {"division", 0, [](double v) {
         return static_cast<double>(static_cast<float>(v) /
                                    (static_cast<float>(std::fabs(v)) + 0.3f));
       }}};
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int i = 0; i < kN; ++i) {
      ASSERT_LE(UlpsApart(y.data[r * kN + i], rows[r].exact(x.data[i])), rows[r].ulps)
          << rows[r].name << " of " << x.data[i];
    }
  }
}

TEST(PtxPrograms, HalfTwoGeluAgreesWithSingle) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
#include <cuda_fp16.h>
extern "C" __global__ void gelu(const __half2* x, __half2* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 v = x[i];
  __half2 k = __hmul2(v, __hfma2(__hmul2(v, v), __float2half2_rn(0.035677408f), __float2half2_rn(0.79788456f)));
  float2 t = __half22float2(k), w = __half22float2(v);
  y[i] = __floats2half2_rn(0.5f * w.x * (1 + tanhf(t.x)), 0.5f * w.y * (1 + tanhf(t.y)));
})"));
  constexpr int kN = 2048;
  auto half = [](float f) {  // exact for these multiples of 1/256 below 8
    int e = f == 0 ? 0 : std::ilogb(f);
    if (f == 0) return uint16_t{0};
    return static_cast<uint16_t>((f < 0 ? 0x8000 : 0) | (e + 15) << 10 |
                                 static_cast<int>((std::fabs(f) / std::ldexp(1.0f, e) - 1) * 1024));
  };
  auto single = [](uint16_t h) {
    float m = static_cast<float>(h & 1023) / 1024,
          v = (h & 0x7c00) == 0 ? std::ldexp(m, -14) : std::ldexp(1 + m, (h >> 10 & 31) - 15);
    return h & 0x8000 ? -v : v;
  };
  Buffer<uint16_t> x{"x", std::vector<uint16_t>(2 * kN), false},
      y{"y", std::vector<uint16_t>(2 * kN), true, false};
  for (int i = 0; i < 2 * kN; ++i) x.data[i] = half(static_cast<float>(i % 1024 - 512) / 256.0f);
  bench.With(x).With(y).Arg(kN);
  ASSERT_EQ(bench.Say("gelu", {8, 1, 1}, {256, 1, 1}), "ok");
  for (int i = 0; i < 2 * kN; ++i) {
    double v = single(x.data[i]),
           want = 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(single(y.data[i]), want, 2e-3) << v;
  }
}

TEST(PtxPrograms, CountsAHistogramWithAtomics) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, float* sum, unsigned long long* last, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[x[i]], 1u);
    atomicMax(last, (unsigned long long)i);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    atomicAdd(&bins[i], local[i]);
    atomicAdd(sum, (float)local[i]);
  }
})");
  constexpr int kN = 30'000;
  for (int threads : {1, 3}) {
    Bench bench(ptx, BestExecutor(), threads);
    Buffer<uint8_t> x{"x", std::vector<uint8_t>(kN), false};
    Buffer<uint32_t> bins{"bins", std::vector<uint32_t>(256)};
    Buffer<float> sum{"sum", {0.0f}};
    Buffer<uint64_t> last{"last", {0}};
    std::vector<uint32_t> want(256);
    for (int i = 0; i < kN; ++i) ++want[x.data[i] = static_cast<uint8_t>(i * i % 251)];
    bench.With(x).With(bins).With(sum).With(last).Arg(kN);
    ASSERT_EQ(bench.Say("histogram", {24, 1, 1}, {256, 1, 1}), "ok");
    EXPECT_EQ(bins.data, want);
    EXPECT_EQ(sum.data[0], kN);
    EXPECT_EQ(last.data[0], kN - 1u);
  }
}

TEST(PtxPrograms, SeesBankConflictsOfATranspose) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
template <int kWidth> __device__ void transpose(const float* x, float* y, float (*tile)[kWidth]) {
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void conflicts(const float* x, float* y) { __shared__ float t[32][32]; transpose<32>(x, y, t); }
extern "C" __global__ void padded(const float* x, float* y) { __shared__ float t[32][33]; transpose<33>(x, y, t); })");
  Bench bench(ptx);
  Buffer<float> x{"x", std::vector<float>(1024), false},
      y{"y", std::vector<float>(1024), true, false};
  std::iota(x.data.begin(), x.data.end(), 0.0f);
  bench.With(x).With(y);
  for (bool padded : {false, true}) {
    ASSERT_EQ(bench.Say(padded ? "padded" : "conflicts", {1, 1, 1}, {32, 32, 1}), "ok");
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(y.data[i], x.data[(i % 32) * 32 + i / 32]);
    KernelCounters c = bench.Counted();
    EXPECT_EQ(c.shared_requests, 64);
    EXPECT_EQ(c.shared_wavefronts, padded ? 64 : 32 + 32 * 32);
  }
}

TEST(PtxPrograms, CallsDeviceFunctionsThatAreNotInlined) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
struct Pair { float a; double b; int c[3]; };
__device__ __noinline__ int deeper(int x) { return x * x + 1; }
__device__ __noinline__ Pair make(int i, float f) {
  Pair p; p.a = f + i; p.b = f * 2.0; p.c[0] = deeper(i); p.c[1] = -i; p.c[2] = i & 1 ? deeper(deeper(i)) : 0; return p;
}
extern "C" __global__ void calls(double* y) {
  int i = threadIdx.x;
  Pair p = (i % 3 == 0) ? make(i, 0.5f) : make(-i, 1.5f);
  y[i] = p.a + p.b + p.c[0] * 1000.0 + p.c[1] + p.c[2];
})"));
  Buffer<double> y{"y", std::vector<double>(64)};
  bench.With(y);
  ASSERT_EQ(bench.Say("calls", {1, 1, 1}, {64, 1, 1}), "ok");
  auto deeper = [](int x) { return x * x + 1; };
  for (int t = 0; t < 64; ++t) {
    int i = t % 3 == 0 ? t : -t;
    double f = t % 3 == 0 ? 0.5 : 1.5;
    EXPECT_EQ(y.data[t], static_cast<float>(f + i) + f * 2 + deeper(i) * 1000.0 - i +
                             (i & 1 ? deeper(deeper(i)) : 0))
        << t;
  }
}

TEST(PtxPrograms, KeepsLocalArraysPerThread) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void local(const int* order, int* y) {
  int a[16];
  for (int k = 0; k < 16; ++k) a[order[k]] = k * 100 + threadIdx.x;
  int s = 0;
  for (int k = 0; k < 16; ++k) s = s * 3 + a[order[(k * 5 + threadIdx.x) & 15]];
  y[threadIdx.x] = s;
})"));
  Buffer<int> order{"order", {3, 1, 4, 15, 9, 2, 6, 5, 0, 7, 8, 10, 11, 12, 13, 14}, false},
      y{"y", std::vector<int>(50)};
  bench.With(order).With(y);
  ASSERT_EQ(bench.Say("local", {1, 1, 1}, {50, 1, 1}), "ok");
  for (int t = 0; t < 50; ++t) {
    uint32_t s = 0;
    for (int k = 0; k < 16; ++k) s = s * 3 + static_cast<uint32_t>(((k * 5 + t) & 15) * 100 + t);
    EXPECT_EQ(static_cast<uint32_t>(y.data[t]), s) << t;
  }
  Checked<KernelInfo> info = bench.module()->Kernel("local");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->resources.local_bytes, 64);
  ASSERT_EQ(info->params.size(), 2u);
  EXPECT_EQ(info->params[1].offset, 8u);
}

TEST(PtxPrograms, VotesMatchesAndReducesAcrossDivergedLanes) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void warp(unsigned* y) {
  unsigned lane = threadIdx.x, *out = y + lane * 8;
  out[0] = __ballot_sync(~0u, lane % 3 == 0);
  out[1] = __match_any_sync(~0u, lane % 5);
  out[2] = __reduce_add_sync(~0u, lane);
  out[3] = __reduce_max_sync(~0u, (int)(lane ^ 21));
  if (lane < 10) {
    out[4] = __activemask();
    out[5] = __ballot_sync(0x3ffu, lane & 1);
  } else {
    out[4] = __activemask();
    out[5] = __shfl_up_sync(0xfffffc00u, lane, 1);
  }
  out[6] = __all_sync(~0u, lane < 32) + 2 * __any_sync(~0u, lane == 77);
  int same; out[7] = __match_all_sync(~0u, 7, &same) + same;
})"));
  Buffer<uint32_t> y{"y", std::vector<uint32_t>(256)};
  bench.With(y);
  ASSERT_EQ(bench.Say("warp", {1, 1, 1}, {32, 1, 1}), "ok");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t* out = y.data.data() + lane * 8;
    uint32_t thirds = 0, fives = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      thirds |= (l % 3 == 0) << l;
      fives |= static_cast<uint32_t>(l % 5 == lane % 5) << l;
    }
    EXPECT_EQ(out[0], thirds);
    EXPECT_EQ(out[1], fives);
    EXPECT_EQ(out[2], 496u);
    EXPECT_EQ(out[3], 31u);
    EXPECT_EQ(out[4], lane < 10 ? 0x3ffu : 0xfffffc00u);
    // Lane 10 reads a lane outside its mask: PTX leaves the value open.
    if (lane != 10) {
      EXPECT_EQ(out[5], lane < 10 ? 0x2aau : lane - 1) << lane;
    }
    EXPECT_EQ(out[6], 1u);
    EXPECT_EQ(out[7], 0u);
  }
}

TEST(PtxPrograms, CooperativeGroupsReduceTilesAndBlocks) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void reduce(const int* x, int* y) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = cg::reduce(tile, x[i], cg::plus<int>());
  int most = cg::reduce(tile, x[i], cg::greater<int>());
  block.sync();
  if (tile.thread_rank() == 0) { y[2 * (i / 8)] = sum; y[2 * (i / 8) + 1] = most; }
})"));
  Buffer<int> x{"x", std::vector<int>(512), false}, y{"y", std::vector<int>(128)};
  for (int i = 0; i < 512; ++i) x.data[i] = (i * 37) % 101 - 50;
  bench.With(x).With(y);
  ASSERT_EQ(bench.Say("reduce", {4, 1, 1}, {128, 1, 1}), "ok");
  for (int g = 0; g < 64; ++g) {
    EXPECT_EQ(y.data[2 * g],
              std::accumulate(x.data.begin() + 8 * g, x.data.begin() + 8 * g + 8, 0));
    EXPECT_EQ(y.data[2 * g + 1],
              *std::max_element(x.data.begin() + 8 * g, x.data.begin() + 8 * g + 8));
  }
}

TEST(PtxPrograms, CooperativeLaunchSynchronisesTheGrid) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void grid(int* a, int* b) {
  cg::grid_group g = cg::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  a[i] = i;
  g.sync();
  b[i] = a[n - 1 - i];
  g.sync();
  a[i] = b[(i + 1) % n];
})");
  for (int threads : {1, 3}) {
    Bench bench(ptx, BestExecutor(), threads);
    constexpr int kN = 64 * 128;
    Buffer<int> a{"a", std::vector<int>(kN), true, false},
        b{"b", std::vector<int>(kN), true, false};
    bench.With(a).With(b);
    ASSERT_EQ(bench.Say("grid", {64, 1, 1}, {128, 1, 1}, 0, true), "ok");
    for (int i = 0; i < kN; ++i) ASSERT_EQ(a.data[i], kN - 1 - (i + 1) % kN);
  }
}

TEST(PtxPrograms, LanesThatFightForALockAllGetIt) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void lock(int* mutex, int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(mutex, 0, 1) == 0) {
      volatile int* c = count;
      *c = *c + 1;
      __threadfence();
      atomicExch(mutex, 0);
      done = true;
    }
  }
}
extern "C" __global__ void spin(int* mutex, int* count) {
  while (atomicCAS(mutex, 0, 1) != 0) {}
  volatile int* c = count;
  *c = *c + 1;
  __threadfence();
  atomicExch(mutex, 0);
})"));
  Buffer<int> mutex{"mutex", {0}}, count{"count", {0}};
  bench.With(mutex).With(count);
  ASSERT_EQ(bench.Say("lock", {2, 1, 1}, {64, 1, 1}), "ok");
  EXPECT_EQ(count.data[0], 128);
  ASSERT_EQ(bench.Say("spin", {2, 1, 1}, {64, 1, 1}), "ok");
  EXPECT_EQ(count.data[0], 256);
}

TEST(PtxPrograms, WarpsWaitForEachOtherThroughSharedFlagsAndNamedBarriers) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(
extern "C" __global__ void pipeline(const float* x, float* y) {
  __shared__ float stage[32];
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    stage[threadIdx.x] = x[threadIdx.x] * 2;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    while (ready == 0) {}
    y[threadIdx.x] = stage[31 - threadIdx.x];
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    int l = threadIdx.x - 32;
    stage[l] = stage[l] + 1;
    __syncwarp();
    if (l == 0) ready = 1;
  }
  int n = __syncthreads_count(threadIdx.x & 1);
  if (threadIdx.x == 0) y[32] = n;
  y[33 + threadIdx.x] = __syncthreads_and(threadIdx.x < 64) * 2 + __syncthreads_or(threadIdx.x == 99);
})"));
  Buffer<float> x{"x", std::vector<float>(32), false}, y{"y", std::vector<float>(97)};
  std::iota(x.data.begin(), x.data.end(), 0.0f);
  bench.With(x).With(y);
  ASSERT_EQ(bench.Say("pipeline", {1, 1, 1}, {64, 1, 1}), "ok");
  for (int i = 0; i < 32; ++i) EXPECT_EQ(y.data[i], x.data[31 - i] * 2 + 1);
  EXPECT_EQ(y.data[32], 32);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y.data[33 + i], 2);
}

TEST(PtxPrograms, PrintsAsTheDeviceDoesAndCapsTheOutput) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
extern "C" __global__ void hello(float f) {
  if (threadIdx.x == 3) printf("%d|%5u|%s|%.2f|%c|%llx|100%%\n", -7, 42u, "text", f, 'z', 0xabcdef0123ull);
}
extern "C" __global__ void flood() { for (int i = 0; i < 200; ++i) printf("thread %d says the same thing again and again\n", threadIdx.x); })");
  Bench bench(ptx);
  bench.Arg(1.5f);
  testing::internal::CaptureStdout();
  EXPECT_EQ(bench.Say("hello", {1, 1, 1}, {32, 1, 1}), "ok");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "-7|   42|text|1.50|z|abcdef0123|100%\n");
  bench.Clear();
  testing::internal::CaptureStdout();
  EXPECT_EQ(bench.Say("flood", {1, 1, 1}, {256, 1, 1}), "ok");
  std::string flood = testing::internal::GetCapturedStdout();
  EXPECT_LT(flood.size(), 300'000u);
  EXPECT_THAT(flood, testing::HasSubstr("further output of this launch is dropped"));
}

TEST(PtxPrograms, InitialisesModuleVariablesAndKeepsThemBetweenLaunches) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
__device__ int counter = 40;
__constant__ float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
__device__ const char* names[2] = {"ab", "cd"};
extern "C" __global__ void globals(float* y) {
  if (threadIdx.x == 0) y[4] = atomicAdd(&counter, 1);
  y[threadIdx.x] = table[threadIdx.x] + names[threadIdx.x & 1][1];
})");
  Bench bench(ptx);
  Buffer<float> y{"y", std::vector<float>(5)};
  bench.With(y);
  for (int launch = 0; launch < 2; ++launch) {
    ASSERT_EQ(bench.Say("globals", {1, 1, 1}, {4, 1, 1}), "ok");
    EXPECT_THAT(y.data, testing::ElementsAre(1.5f + 'b', 2.5f + 'd', 3.5f + 'b', 4.5f + 'd',
                                             40.0f + launch));
  }
}

TEST(PtxPrograms, CountsDoNotDependOnHostThreads) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
extern "C" __global__ void work(const float* x, float* y, int n) {
  __shared__ float part[128];
  float s = 0;
  for (int i = blockIdx.x + threadIdx.x * 3; i < n; i += 517) s += x[i] * (i & 3 ? 1.0f : 2.0f);
  part[threadIdx.x] = s;
  __syncthreads();
  for (int o = 64; o; o >>= 1) {
    if (threadIdx.x < o) part[threadIdx.x] += part[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
})");
  std::vector<KernelCounters> all;
  std::vector<std::vector<float>> results;
  Buffer<float> x{"x", std::vector<float>(20'000), false}, y{"y", std::vector<float>(200)};
  std::iota(x.data.begin(), x.data.end(), 0.25f);
  for (int threads : {1, 2, 5}) {
    Bench bench(ptx, BestExecutor(), threads);
    bench.With(x).With(y).Arg(20'000);
    ASSERT_EQ(bench.Say("work", {200, 1, 1}, {128, 1, 1}), "ok");
    all.push_back(bench.Counted());
    results.push_back(y.data);
  }
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i].instructions, all[0].instructions);
    EXPECT_EQ(all[i].global_sectors, all[0].global_sectors);
    EXPECT_EQ(all[i].shared_wavefronts, all[0].shared_wavefronts);
    EXPECT_EQ(all[i].active_lane_share, all[0].active_lane_share);
    EXPECT_EQ(all[i].estimated_us, all[0].estimated_us);
    EXPECT_EQ(results[i], results[0]);
  }
  EXPECT_GT(all[0].active_lane_share, 0.5);
  EXPECT_LE(all[0].active_lane_share, 1.0);
}

TEST(PtxPrograms, BothBuildsOfTheExecutorGiveTheSameBits) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(R"(
extern "C" __global__ void mix(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) * sinf(x[i]) + erff(x[i] * 0.3f) / (1.0f + fabsf(tanhf(x[i]))) + __logf(1 + x[i] * x[i]);
})");
  Buffer<float> x{"x", std::vector<float>(1000), false}, y{"y", std::vector<float>(1000)};
  for (int i = 0; i < 1000; ++i) x.data[i] = static_cast<float>(i - 500) * 0.037f;
  std::vector<std::vector<float>> results;
  for (const Executor* executor : {&BestExecutor(), &BaselineExecutor()}) {
    Bench bench(ptx, *executor);
    bench.With(x).With(y).Arg(1000);
    ASSERT_EQ(bench.Say("mix", {4, 1, 1}, {256, 1, 1}), "ok");
    results.push_back(y.data);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
