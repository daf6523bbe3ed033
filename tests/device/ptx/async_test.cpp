// cp.async: data appear at the wait, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSource = R"(
#include <cuda_pipeline.h>
#define AT(p) (unsigned)__cvta_generic_to_shared(p)
extern "C" __global__ void pipeline(const float* x, float* y, int tiles) {
  __shared__ alignas(16) float s[2][256];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][4 * t], x + 4 * t, 16);
  __pipeline_commit();
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) __pipeline_memcpy_async(&s[(i + 1) & 1][4 * t], x + 256 * (i + 1) + 4 * t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < 4; ++k) sum += s[i & 1][(4 * t + k + 17) % 256];
    __syncthreads();
  }
  y[t] = sum;
}
extern "C" __global__ void nowait(const float* x, float* y) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], x + threadIdx.x, 4);
  __pipeline_commit();
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void early(const float* x, float* y) {
  __shared__ float s[2][64];
  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&s[i][threadIdx.x], x + 64 * i + threadIdx.x, 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  y[threadIdx.x] = s[1][threadIdx.x];
}
extern "C" __global__ void overwrite(const float* x, float* y) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], x + threadIdx.x, 4);
  s[threadIdx.x] = 1;
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void part(const float* x, unsigned char* y, int n) {
  __shared__ alignas(16) unsigned char s[32 * 16];
  int t = threadIdx.x, left = 4 * n - 16 * t, size = left >= 16 ? 16 : left > 0 ? left : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(AT(s + 16 * t)), "l"(x + 4 * t), "r"(size));
  asm volatile("cp.async.wait_all;");
  for (int i = 0; i < 16; ++i) y[16 * t + i] = s[16 * t + i];
}
extern "C" __global__ void ignored(const float* x, float* y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  asm volatile("{ .reg .pred p; setp.ge.s32 p, %2, 16; cp.async.ca.shared.global [%0], [%1], 4, p; }" :: "r"(AT(s + t)), "l"(x + (t < 16 ? t : 1000000)), "r"(t));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  y[t] = s[t];
}
extern "C" __global__ void over(const float* x, float* y, int n) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], x + n + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = s[threadIdx.x];
}
)";

class PtxAsync : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_NVRTC();
    static const std::string& ptx = *new std::string(CompileToPtx(kSource));
    bench_ = std::make_unique<Bench>(ptx);
    std::iota(x_.data.begin(), x_.data.end(), 1.0f);
  }
  std::unique_ptr<Bench> bench_;
  Buffer<float> x_{"x", std::vector<float>(256 * 6), false};
  Buffer<float> y_{"y", std::vector<float>(64), true, false};
};

TEST_F(PtxAsync, PipelinesTilesThroughTwoBuffers) {
  bench_->With(x_).With(y_).Arg(6);
  ASSERT_EQ(bench_->Say("pipeline", {1, 1, 1}, {64, 1, 1}), "ok");
  for (int t = 0; t < 64; ++t) {
    float sum = 0;
    for (int i = 0; i < 6; ++i)
      for (int k = 0; k < 4; ++k) sum += x_.data[256 * i + (4 * t + k + 17) % 256];
    EXPECT_EQ(y_.data[t], sum) << t;
  }
}

TEST_F(PtxAsync, FaultsWhereNobodyWaits) {
  bench_->With(x_).With(y_);
  EXPECT_THAT(bench_->Say("nowait", {1, 1, 1}, {64, 1, 1}),
              AllOf(StartsWith("device_fault: kernel nowait (line 25), block (0,0,0) thread ("),
                    HasSubstr(": reads 4 bytes of shared memory at s["),
                    HasSubstr("], to which a cp.async of thread ("),
                    HasSubstr(",0,0) (line 22) is in flight: nothing has waited for it")));
}

TEST_F(PtxAsync, FaultsWhereTheWaitCoversAnOlderGroupOnly) {
  bench_->With(x_).With(y_);
  EXPECT_THAT(bench_->Say("early", {1, 1, 1}, {64, 1, 1}),
              AllOf(StartsWith("device_fault: kernel early (line 34)"), HasSubstr("s[64]"),
                    HasSubstr("cp.async of thread (0,0,0) (line 30) is in flight")));
}

TEST_F(PtxAsync, FaultsWhereTheTargetIsWrittenMeanwhile) {
  bench_->With(x_).With(y_);
  EXPECT_THAT(bench_->Say("overwrite", {1, 1, 1}, {64, 1, 1}),
              AllOf(HasSubstr("(line 39)"), HasSubstr("writes 4 bytes"), HasSubstr("in flight")));
}

TEST_F(PtxAsync, FillsWithZerosWhatTheSourceSizeLeavesOut) {
  // 13 floats of x: lane 3 copies 4 bytes, lanes from 4 on none, and nothing is read past them.
  std::vector<float> few(x_.data.begin(), x_.data.begin() + 13);
  Buffer<float> x{"x", few, false};
  Buffer<uint8_t> y{"y", std::vector<uint8_t>(512, 7), true, false};
  bench_->With(x).With(y).Arg(13);
  ASSERT_EQ(bench_->Say("part", {1, 1, 1}, {32, 1, 1}), "ok");
  std::vector<float> got(128);
  std::memcpy(got.data(), y.data.data(), 512);
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i < 13 ? few[i] : 0.0f) << i;
}

TEST_F(PtxAsync, LeavesAnIgnoredSourceAlone) {
  bench_->With(x_).With(y_);
  ASSERT_EQ(bench_->Say("ignored", {1, 1, 1}, {32, 1, 1}), "ok");
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(y_.data[i], i < 16 ? x_.data[i] : 0.0f) << i;
}

TEST_F(PtxAsync, ChecksTheSourcesBounds) {
  bench_->With(x_).With(y_).Arg(256 * 6 - 60);
  EXPECT_THAT(bench_->Say("over", {1, 1, 1}, {64, 1, 1}),
              AllOf(StartsWith("out_of_bounds: kernel over"), HasSubstr("thread (60,0,0)"),
                    HasSubstr("0 bytes past the end of x")));
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
