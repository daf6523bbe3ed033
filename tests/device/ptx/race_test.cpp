// Races in shared memory: seeded ones are found and named, honest kernels are left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <regex>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

struct KernelCase {
  const char* name;
  const char* source;  // of `extern "C" __global__ void k(const float* x, float* y, int* z)`
  unsigned block;
  const char* said = "";  // a pattern of the fault's sentence
  unsigned grid = 1;
  bool cooperative = false;
};
std::ostream& operator<<(std::ostream& out, const KernelCase& c) { return out << c.name; }
std::string NameOf(const testing::TestParamInfo<KernelCase>& info) { return info.param.name; }

std::string Said(const KernelCase& c, const Executor& executor) {
  Bench bench(CompileToPtx(c.source), executor);
  Buffer<float> x{"x", std::vector<float>(4096), false}, y{"y", std::vector<float>(4096), true};
  Buffer<int> z{"z", std::vector<int>(1024), true};
  // Distinct, so that no two threads write the same value by chance.
  for (size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<float>(i * 37 % 4096) + 0.5f;
  bench.With(x).With(y).With(z);
  return bench.Say("k", {c.grid, 1, 1}, {c.block, 1, 1}, 0, c.cooperative);
}

class PtxRace : public testing::TestWithParam<KernelCase> {};
class PtxHonest : public testing::TestWithParam<KernelCase> {};

TEST_P(PtxRace, IsFoundAndNamed) {
  REQUIRE_NVRTC();
  std::string said = Said(GetParam(), BestExecutor());
  EXPECT_TRUE(std::regex_search(said, std::regex(GetParam().said))) << said;
  EXPECT_EQ(said, Said(GetParam(), BaselineExecutor()));
}

TEST_P(PtxHonest, IsLeftAlone) {
  REQUIRE_NVRTC();
  EXPECT_EQ(Said(GetParam(), BestExecutor()), "ok");
}

#define K \
  "extern \"C\" __global__ void k(const float* x, float* y, int* z) {\n  int t = threadIdx.x;\n"

INSTANTIATE_TEST_SUITE_P(
    Seeded, PtxRace,
    testing::Values(
        KernelCase{"TileReadBeforeTheBarrier",
                   K "  __shared__ float s[128];\n"
                     "  s[t] = x[t];\n"
                     "  y[t] = s[(t + 32) % 128];\n}",
                   128,
                   "^device_fault: kernel k \\(line 5\\), block \\(0,0,0\\) thread "
                   "\\([0-9]+,0,0\\): reads 4 bytes of shared memory at s\\[[0-9]+\\], which "
                   "(nothing has written|thread \\([0-9]+,0,0\\) \\(line 4\\) writes with no "
                   "barrier in between: a race)|reads uninitialised shared memory"},
        KernelCase{"TileOverwrittenWhileOthersRead",
                   K "  __shared__ float s[128];\n"
                     "  float sum = 0;\n"
                     "  for (int i = 0; i < 4; ++i) {\n"
                     "    s[t] = x[128 * i + t];\n"
                     "    __syncthreads();\n"
                     "    for (int j = 0; j < 128; ++j) sum += s[j];\n"
                     "  }\n"
                     "  y[t] = sum;\n}",
                   128,
                   "(reads|writes) 4 bytes of shared memory at s\\[[0-9]+\\], which thread "
                   "\\([0-9]+,0,0\\) \\(line [68]\\) (reads|writes) with no barrier in between"},
        KernelCase{"TreeWithoutBarriers",
                   K "  __shared__ float s[256];\n"
                     "  s[t] = x[t];\n"
                     "  __syncthreads();\n"
                     "  for (int o = 128; o; o >>= 1) if (t < o) s[t] += s[t + o];\n"
                     "  if (t == 0) y[0] = s[0];\n}",
                   256, "\\(line 6\\).*with no barrier in between: a race"},
        KernelCase{"WarpTreeWithoutSyncwarp",
                   K "  __shared__ float s[64];\n"
                     "  s[t] = x[t]; s[t + 32] = x[t + 32];\n"
                     "  __syncwarp();\n"
                     "  for (int o = 32; o; o >>= 1) if (t < o) s[t] += s[t + o];\n"
                     "  if (t == 0) y[0] = s[0];\n}",
                   32, "reads 4 bytes of shared memory at s\\[[0-9]+\\], which thread .* writes"},
        KernelCase{"HistogramReadWithoutABarrier",
                   K "  __shared__ int h[64];\n"
                     "  if (t < 64) h[t] = 0;\n"
                     "  __syncthreads();\n"
                     "  atomicAdd(&h[(int)x[t] % 64], 1);\n"
                     "  if (t < 64) z[t] = h[t];\n}",
                   256, "\\(line [67]\\).*with no barrier in between: a race"},
        KernelCase{"HistogramClearedWithoutABarrier",
                   K "  __shared__ int h[64];\n"
                     "  if (t < 64) h[t] = 1;\n"
                     "  __syncthreads();\n"
                     "  if (t >= 192) h[t - 192] = 0;\n"
                     "  atomicAdd(&h[(int)x[t] % 64], 1);\n"
                     "  __syncthreads();\n"
                     "  if (t < 64) z[t] = h[t];\n}",
                   256, "(updates|writes) 4 bytes of shared memory.*a race"},
        KernelCase{"ManyValuesForOnePlace",
                   K "  __shared__ float s;\n"
                     "  if (t % 32 == 0) s = x[t];\n"
                     "  __syncthreads();\n"
                     "  y[t] = s;\n}",
                   128,
                   "^device_fault: kernel k \\(line 4\\), block \\(0,0,0\\) thread \\(32,0,0\\): "
                   "writes 4 bytes of shared memory at s\\[0\\], which thread \\(0,0,0\\) "
                   "\\(line 4\\) writes with no barrier in between: a race$"},
        KernelCase{"LanesOfOneStoreDisagree",
                   K "  __shared__ float s[8];\n"
                     "  s[t % 8] = x[t];\n"
                     "  __syncthreads();\n"
                     "  y[t] = s[t % 8];\n}",
                   32, "writes 4 bytes of shared memory at s\\[0\\], which thread \\(0,0,0\\)"},
        KernelCase{"BroadcastSlotReusedTooSoon",
                   K "  __shared__ float s;\n"
                     "  for (int i = 0; i < 3; ++i) {\n"
                     "    if (t == 0) s = x[i];\n"
                     "    __syncthreads();\n"
                     "    y[128 * i + t] = s;\n"
                     "  }\n}",
                   128, "writes 4 bytes of shared memory at s\\[0\\], which thread .* reads"},
        KernelCase{"NamedBarrierOfOtherWarps",
                   K "  __shared__ float s[128];\n"
                     "  s[t] = x[t];\n"
                     "  if (t < 64) asm volatile(\"bar.sync 1, 64;\" ::: \"memory\");\n"
                     "  else asm volatile(\"bar.sync 2, 64;\" ::: \"memory\");\n"
                     "  y[t] = s[t ^ 64];\n}",
                   128, "reads (4 bytes of|uninitialised) shared memory"},
        KernelCase{"CopyIntoABufferInUse",
                   "#include <cuda_pipeline.h>\n" K "  __shared__ float s[128];\n"
                   "  s[t] = x[t];\n"
                   "  __syncthreads();\n"
                   "  y[t] = s[127 - t];\n"
                   "  __pipeline_memcpy_async(&s[t], x + 128 + t, 4);\n"
                   "  __pipeline_commit();\n"
                   "  __pipeline_wait_prior(0);\n"
                   "  __syncthreads();\n"
                   "  y[128 + t] = s[127 - t];\n}",
                   128, "(s.*with no barrier in between: a race|in flight)"},
        KernelCase{
            "CopyReadByOthersAfterTheWaitOnly",
            "#include <cuda_pipeline.h>\n" K "  __shared__ float s[128];\n"
            "  s[t] = 0; __syncthreads();\n"
            "  __pipeline_memcpy_async(&s[t], x + t, 4);\n"
            "  __pipeline_commit();\n"
            "  __pipeline_wait_prior(0);\n"
            "  if (t >= 64) y[t] = s[t - 64];\n}",
            128,
            "4 bytes of shared memory at s\\[[0-9]+\\], which thread .*with no barrier in between"},
        KernelCase{"FlagWithoutVolatile",
                   K "  __shared__ float s; __shared__ int ready;\n"
                     "  if (t == 0) ready = 0;\n"
                     "  __syncthreads();\n"
                     "  if (t == 0) { s = x[0]; ready = 1; }\n"
                     "  if (t == 64) y[0] = ready ? s : 0;\n}",
                   128, "reads .*shared memory"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    All, PtxHonest,
    testing::Values(
        KernelCase{"TreeReduction",
                   K "  __shared__ float s[256];\n  s[t] = x[t]; __syncthreads();\n"
                     "  for (int o = 128; o; o >>= 1) { if (t < o) s[t] += s[t + o]; "
                     "__syncthreads(); }\n"
                     "  if (t == 0) y[0] = s[0];\n}",
                   256},
        KernelCase{"WarpReductionsWithSyncwarp",
                   K "  __shared__ float s[256];\n  s[t] = x[t]; __syncwarp();\n"
                     "  int l = t % 32; float* w = s + t - l;\n"
                     "  for (int o = 16; o; o >>= 1) { if (l < o) w[l] += w[l + o]; __syncwarp(); "
                     "}\n  y[t] = w[0];\n}",
                   256},
        KernelCase{"LastWarpOfATreeIsVolatile",
                   K "  __shared__ float s[256];\n  s[t] = x[t]; __syncthreads();\n"
                     "  for (int o = 128; o > 32; o >>= 1) { if (t < o) s[t] += s[t + o]; "
                     "__syncthreads(); }\n"
                     "  if (t < 32) { volatile float* v = s; v[t] += v[t + 32]; v[t] += v[t + 16]; "
                     "v[t] += v[t + 8]; v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1]; }\n"
                     "  if (t == 0) y[0] = s[0];\n}",
                   256},
        KernelCase{"ShuffleReductionAndBroadcast",
                   K "  __shared__ float part[32]; float v = x[t];\n"
                     "  for (int round = 0; round < 3; ++round) {\n"
                     "  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);\n"
                     "  if (t % 32 == 0) part[t / 32] = v; __syncthreads();\n"
                     "  if (t < 32) { float p = t < blockDim.x / 32 ? part[t] : 0; for (int o = "
                     "16; o; o >>= 1) p += __shfl_xor_sync(~0u, p, o); if (t == 0) part[0] = p; }\n"
                     "  __syncthreads(); v = part[0] + t; __syncthreads(); }\n  y[t] = v;\n}",
                   512},
        KernelCase{"PaddedTranspose",
                   K "  __shared__ float s[32][33];\n  int c = t % 32, r = t / 32;\n"
                     "  for (int i = r; i < 32; i += 8) s[i][c] = x[32 * i + c];\n"
                     "  __syncthreads();\n"
                     "  for (int i = r; i < 32; i += 8) y[32 * i + c] = s[c][i];\n}",
                   256},
        KernelCase{"HistogramWithAtomics",
                   K "  __shared__ int h[64];\n  if (t < 64) h[t] = 0;\n  __syncthreads();\n"
                     "  for (int i = t; i < 4096; i += 256) atomicAdd(&h[(int)x[i] % 64], 1);\n"
                     "  __syncthreads();\n  if (t < 64) z[t] = h[t];\n}",
                   256},
        KernelCase{"BitonicSort",
                   K "  __shared__ float s[256];\n  s[t] = x[t];\n"
                     "  for (int k = 2; k <= 256; k <<= 1) for (int j = k >> 1; j; j >>= 1) {\n"
                     "    __syncthreads(); int o = t ^ j;\n"
                     "    if (o > t) { float a = s[t], b = s[o]; if ((a > b) == ((t & k) == 0)) { "
                     "s[t] = b; s[o] = a; } } }\n"
                     "  __syncthreads(); y[t] = s[t];\n}",
                   256},
        KernelCase{"ScanInTwoBuffers",
                   K "  __shared__ float s[2][256]; int in = 0;\n  s[0][t] = x[t]; "
                     "__syncthreads();\n"
                     "  for (int o = 1; o < 256; o <<= 1) { s[1 - in][t] = s[in][t] + (t >= o ? "
                     "s[in][t - o] : 0); in = 1 - in; __syncthreads(); }\n  y[t] = s[in][t];\n}",
                   256},
        KernelCase{"BlellochScan",
                   K "  __shared__ float s[512]; int n = 512, o = 1;\n"
                     "  s[2 * t] = x[2 * t]; s[2 * t + 1] = x[2 * t + 1];\n"
                     "  for (int d = n >> 1; d; d >>= 1) { __syncthreads(); if (t < d) s[o * (2 * "
                     "t + 2) - 1] += s[o * (2 * t + 1) - 1]; o <<= 1; }\n"
                     "  if (t == 0) s[n - 1] = 0;\n"
                     "  for (int d = 1; d < n; d <<= 1) { o >>= 1; __syncthreads(); if (t < d) { "
                     "int a = o * (2 * t + 1) - 1, b = o * (2 * t + 2) - 1; float v = s[a]; s[a] = "
                     "s[b]; s[b] += v; } }\n"
                     "  __syncthreads(); y[2 * t] = s[2 * t]; y[2 * t + 1] = s[2 * t + 1];\n}",
                   256},
        KernelCase{"ProducersAndConsumersAtNamedBarriers",
                   K "  __shared__ float s[64];\n  float sum = 0;\n"
                     "  for (int i = 0; i < 8; ++i) {\n"
                     "    if (t < 64) { asm volatile(\"bar.sync 2, 128;\" ::: \"memory\"); s[t] = "
                     "x[64 * i + t]; asm volatile(\"bar.arrive 1, 128;\" ::: \"memory\"); }\n"
                     "    else { asm volatile(\"bar.arrive 2, 128;\" ::: \"memory\"); asm "
                     "volatile(\"bar.sync 1, 128;\" ::: \"memory\"); sum += s[127 - t]; }\n  }\n"
                     "  y[t] = sum;\n}",
                   128},
        KernelCase{"HalvesOfOneWord",
                   K "  __shared__ unsigned short s[256]; __shared__ unsigned char b[256];\n"
                     "  s[t / 32 + 8 * (t % 32)] = (unsigned short)t; b[t / 32 + 8 * (t % 32)] = "
                     "(unsigned char)t;\n"
                     "  __syncthreads();\n  y[t] = s[t] + b[255 - t];\n}",
                   256},
        KernelCase{"OneValueFromManyThreads",
                   K "  __shared__ int any, n;\n  n = 7; if (t == 0) any = 0;\n  __syncthreads();\n"
                     "  if (x[t] > 1000) any = 1;\n  __syncthreads();\n  y[t] = any + n;\n}",
                   256},
        KernelCase{"VolatileFlagBetweenWarps",
                   K "  __shared__ float s[32]; __shared__ volatile int ready;\n"
                     "  if (t == 0) ready = 0;\n  __syncthreads();\n"
                     "  if (t >= 96) { s[t - 96] = x[t]; __syncwarp(); __threadfence_block(); if "
                     "(t == 96) ready = 1; }\n"
                     "  else if (t < 32) { while (!ready) ; __threadfence_block(); y[t] = s[31 - "
                     "t]; }\n}",
                   128},
        KernelCase{"AtomicArrivalCounter",
                   K "  __shared__ float s[128]; __shared__ int arrived;\n"
                     "  if (t == 0) arrived = 0;\n  __syncthreads();\n  s[t] = x[t]; "
                     "__syncwarp();\n"
                     "  __threadfence_block(); int mine = 0; if (t % 32 == 0) mine = "
                     "atomicAdd(&arrived, 1);\n"
                     "  mine = __shfl_sync(~0u, mine, 0); __threadfence_block();\n"
                     "  if (mine == 3) y[t % 32] = s[t % 32] + s[t % 32 + 32] + s[t % 32 + 64] + "
                     "s[t % 32 + 96];\n}",
                   128},
        KernelCase{"CooperativeGroups",
                   "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n" K
                   "  cg::thread_block block = cg::this_thread_block(); auto tile = "
                   "cg::tiled_partition<16>(block);\n"
                   "  __shared__ float s[256];\n  s[t] = x[t]; tile.sync();\n"
                   "  float v = s[t ^ 5]; tile.sync(); s[t] = v + tile.shfl_xor(v, 1);\n"
                   "  block.sync(); y[t] = s[255 - t];\n}",
                   256},
        KernelCase{"GridSync",
                   "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n" K
                   "  __shared__ float s[64]; s[t] = x[64 * blockIdx.x + t];\n"
                   "  y[64 * blockIdx.x + t] = s[t];\n  cg::this_grid().sync();\n"
                   "  s[63 - t] = y[64 * (3 - blockIdx.x) + t];\n  cg::this_grid().sync();\n"
                   "  y[64 * blockIdx.x + t] = s[t];\n}",
                   64, "", 4, true},
        KernelCase{"DoubleBufferedCopies",
                   "#include <cuda_pipeline.h>\n" K
                   "  __shared__ alignas(16) float s[2][512]; float sum = 0;\n"
                   "  __pipeline_memcpy_async(&s[0][4 * t], x + 4 * t, 16); __pipeline_commit();\n"
                   "  for (int i = 0; i < 8; ++i) {\n"
                   "    __pipeline_wait_prior(0); __syncthreads();\n"
                   "    if (i < 7) __pipeline_memcpy_async(&s[(i + 1) & 1][4 * t], x + 512 * (i + "
                   "1) + 4 * t, 16);\n    __pipeline_commit();\n"
                   "    for (int j = 0; j < 512; j += 7) sum += s[i & 1][j];\n  }\n"
                   "  y[t] = sum;\n}",
                   128},
        KernelCase{"WmmaThroughSharedTiles",
                   "#include <mma.h>\n#include <cuda_fp16.h>\nusing namespace nvcuda;\n" K
                   "  __shared__ alignas(32) __half a[2][256], b[2][256]; __shared__ alignas(32) "
                   "float c[4][256];\n"
                   "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f; "
                   "wmma::fill_fragment(f, 0.0f);\n"
                   "  for (int i = 0; i < 2; ++i) {\n"
                   "  for (int j = t; j < 512; j += 128) { a[j / 256][j % 256] = x[j] * 0.01f; b[j "
                   "/ 256][j % 256] = x[j + 512] * 0.01f; }\n"
                   "  __syncthreads();\n"
                   "  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa; "
                   "wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;\n"
                   "  wmma::load_matrix_sync(fa, a[t / 64], 16); wmma::load_matrix_sync(fb, b[t / "
                   "32 % 2], 16);\n"
                   "  wmma::mma_sync(f, fa, fb, f); __syncthreads(); }\n"
                   "  wmma::store_matrix_sync(c[t / 32], f, 16, wmma::mem_row_major);\n"
                   "  __syncthreads(); for (int j = t; j < 1024; j += 128) y[j] = c[0][j];\n}",
                   128}),
    NameOf);

#undef K

TEST(PtxBarriers, ThatThreadsReachAtDifferentLinesAreFaults) {
  REQUIRE_NVRTC();
  Bench bench(CompileToPtx(R"(extern "C" __global__ void k(float* y, int n) {
  __shared__ float s[128];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < n) {
    __syncthreads();
    s[threadIdx.x] = 2;
  }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
})"));
  for (int n : {64, 16, 128, 0}) {
    Buffer<float> y{"y", std::vector<float>(128), true};
    bench.Clear();
    bench.With(y).Arg(n);
    std::string said = bench.Say("k", {1, 1, 1}, {128, 1, 1});
    if (n == 128 || n == 0) {
      EXPECT_EQ(said, "ok") << n;
      continue;
    }
    EXPECT_EQ(said, "device_fault: kernel k (line 8), block (0,0,0) thread (" + std::to_string(n) +
                        ",0,0): waits at a barrier here while thread (0,0,0) waits at line 5: a "
                        "barrier that not all threads reach at the same place is undefined");
  }
}

TEST(PtxRaces, CanBeLeftAlone) {
  REQUIRE_NVRTC();
  std::string ptx = CompileToPtx(
      "extern \"C\" __global__ void k(float* y) { __shared__ float s; int t = threadIdx.x; if (t % "
      "32 == 0) s = t; __syncthreads(); y[t] = s; }");
  for (bool races : {true, false}) {
    Bench bench(ptx, BestExecutor(), 1, 1'000'000, races);
    Buffer<float> y{"y", std::vector<float>(64), true};
    bench.With(y);
    EXPECT_EQ(bench.Say("k", {1, 1, 1}, {64, 1, 1}) == "ok", !races);
  }
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
