// Each fault gets its verdict and its exact sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

#define REQUIRE_NVRTC() \
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing()

constexpr const char* kKernels =
    R"(#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))
extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * 2.0f;
}
extern "C" __global__ void before(const float* x, float* y) {
  y[threadIdx.x] = x[(int)threadIdx.x - 1];
}
extern "C" __global__ void misaligned(const char* x, float* y) {
  y[threadIdx.x] = *(const float*)(x + 1 + 4 * threadIdx.x);
}
extern "C" __global__ void mutate(float* x) {
  x[threadIdx.x] = 1;
}
extern "C" __global__ void stop(float* x) {
  if (threadIdx.x == 5) __trap();
}
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t); extern "C" __global__ void check(const float* x) {
  assert(x[threadIdx.x] < 3.0f);
}
extern "C" __global__ void forever(volatile int* x) {
  while (x[0] == 0) {
  }
}
extern "C" __global__ void deadlock(float* x) {
  if (threadIdx.x < 32) __syncthreads();
  else asm volatile("bar.sync 1, 96;");
  x[threadIdx.x] = 0;
}
extern "C" __global__ void shared_over(float* y, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x + n] = 1;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void shared_unwritten(float* y) {
  __shared__ float tile[64];
  if (threadIdx.x != 7) tile[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void scratch(float* s, float* y) {
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void null(float** p, float* y) {
  y[threadIdx.x] = *p[0];
}
extern "C" __global__ void dynamic(float* y) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = 1;
  y[threadIdx.x] = buffer[threadIdx.x];
}
extern "C" __global__ void half_warp(float* y) {
  float v = y[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffffffu, v, 1);
  else { __syncwarp(); v -= __shfl_xor_sync(0x00ff0000u, v, 1); }
  y[threadIdx.x] = v;
}
)";

class PtxFault : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing();
    bench_ = std::make_unique<Bench>(CompileToPtx(kKernels), BestExecutor(), 1, 50'000'000);
  }
  Buffer<float> x_{"x", std::vector<float>(1000, 1.0f), false};
  Buffer<float> y_{"y", std::vector<float>(4096), true};
  std::unique_ptr<Bench> bench_;
};

TEST_F(PtxFault, NamesTheBufferReadPastItsEnd) {
  bench_->With(x_).With(y_).Arg(1000);
  EXPECT_EQ(bench_->Say("scale", {8, 1, 1}, {256, 1, 1}),
            "out_of_bounds: kernel scale (line 4), block (3,0,0) thread (232,0,0): reads 4 bytes "
            "at x[1000], "
            "0 bytes past the end of x (1000 elements of 4 bytes)");
}

TEST_F(PtxFault, ReportsTheLowestBlockWhateverTheThreads) {
  for (int threads : {1, 2, 4}) {
    Bench bench(CompileToPtx(kKernels), BestExecutor(), threads);
    bench.With(x_).With(y_).Arg(1000);
    EXPECT_THAT(bench.Say("scale", {64, 1, 1}, {256, 1, 1}),
                HasSubstr("block (3,0,0) thread (232,0,0)"));
  }
}

TEST_F(PtxFault, NamesTheBufferReadBeforeItsStart) {
  bench_->With(x_).With(y_);
  EXPECT_EQ(bench_->Say("before", {1, 1, 1}, {32, 1, 1}),
            "out_of_bounds: kernel before (line 7), block (0,0,0) thread (0,0,0): reads 4 bytes at "
            "x[-1], "
            "4 bytes before the start of x (1000 elements of 4 bytes)");
}

TEST_F(PtxFault, SaysWhatIsMisaligned) {
  bench_->With(x_).With(y_);
  EXPECT_EQ(bench_->Say("misaligned", {1, 1, 1}, {32, 1, 1}),
            "device_fault: kernel misaligned (line 10), block (0,0,0) thread (0,0,0): reads 4 "
            "bytes at byte 1 of x, "
            "which is not a multiple of 4");
}

TEST_F(PtxFault, RefusesToWriteAnInput) {
  bench_->With(x_);
  EXPECT_EQ(bench_->Say("mutate", {1, 1, 1}, {32, 1, 1}),
            "input_mutated: kernel mutate (line 13), block (0,0,0) thread (0,0,0): writes 4 bytes "
            "at x[0], "
            "but x is read-only");
  EXPECT_EQ(x_.data[0], 1.0f);
}

TEST_F(PtxFault, ReportsTrap) {
  bench_->With(y_);
  EXPECT_EQ(bench_->Say("stop", {1, 1, 1}, {32, 1, 1}),
            "device_fault: kernel stop (line 16), block (0,0,0) thread (5,0,0): executes trap");
}

TEST_F(PtxFault, ReportsAssertionWithItsText) {
  x_.data[40] = 4;
  bench_->With(x_);
  EXPECT_EQ(bench_->Say("check", {1, 1, 1}, {64, 1, 1}),
            "device_fault: kernel check (line 19), block (0,0,0) thread (40,0,0): assertion "
            "'x[threadIdx.x] < 3.0f' fails");
}

TEST_F(PtxFault, EndsAHangByItsBudget) {
  Buffer<int> flag{"flag", {0}, true};
  bench_->With(flag);
  EXPECT_EQ(bench_->Say("forever", {1, 1, 1}, {32, 1, 1}),
            "timed_out: kernel forever had not ended after its budget of 50000000 thread "
            "instructions; it was at line 22");
}

TEST_F(PtxFault, SaysWhoWaitsWhereInADeadlock) {
  bench_->With(y_);
  EXPECT_EQ(bench_->Say("deadlock", {1, 1, 1}, {64, 1, 1}),
            "device_fault: kernel deadlock, block (0,0,0): no thread can go on: warp 0 lanes "
            "0xffffffff at line 26 in "
            "barrier 0 (32 of 64 threads arrived); warp 1 lanes 0xffffffff at line 27 in barrier 1 "
            "(32 of 96 threads arrived)");
}

TEST_F(PtxFault, NamesTheSharedVariable) {
  bench_->With(y_).Arg(10);
  EXPECT_EQ(bench_->Say("shared_over", {1, 1, 1}, {64, 1, 1}),
            "out_of_bounds: kernel shared_over (line 32), block (0,0,0) thread (54,0,0): writes 4 "
            "bytes of shared memory "
            "at tile[64], 0 bytes past the end of tile (64 elements of 4 bytes)");
}

TEST_F(PtxFault, ReportsSharedMemoryNobodyWrote) {
  bench_->With(y_);
  EXPECT_EQ(bench_->Say("shared_unwritten", {1, 1, 1}, {64, 1, 1}),
            "device_fault: kernel shared_unwritten (line 40), block (0,0,0) thread (7,0,0): reads "
            "uninitialised shared "
            "memory: 4 bytes at tile[7], which nothing has written in this block");
}

TEST_F(PtxFault, ReportsScratchMemoryNobodyWrote) {
  Buffer<float> s{"scratch0", std::vector<float>(64), true, false};
  bench_->With(s).With(y_);
  EXPECT_EQ(bench_->Say("scratch", {1, 1, 1}, {32, 1, 1}),
            "device_fault: kernel scratch (line 43), block (0,0,0) thread (0,0,0): reads 4 bytes "
            "at scratch0[0], "
            "which nothing has written yet");
}

TEST_F(PtxFault, RecognisesANullPointer) {
  Buffer<float*> p{"p", {nullptr}, false};
  bench_->With(p).With(y_);
  EXPECT_EQ(bench_->Say("null", {1, 1, 1}, {32, 1, 1}),
            "out_of_bounds: kernel null (line 46), block (0,0,0) thread (0,0,0): reads 4 bytes at "
            "address 0x0, a null pointer");
}

TEST_F(PtxFault, RecognisesAWildPointer) {
  Buffer<uint64_t> p{"p", {0x00123456789abcdcu}, false};
  bench_->With(p).With(y_);
  EXPECT_EQ(bench_->Say("null", {1, 1, 1}, {32, 1, 1}),
            "out_of_bounds: kernel null (line 46), block (0,0,0) thread (0,0,0): reads 4 bytes at "
            "address "
            "0x123456789abcdc, which lies in no buffer");
}

TEST_F(PtxFault, RejectsLaunchesTheDeviceWouldReject) {
  bench_->With(x_).With(y_).Arg(1000);
  EXPECT_EQ(bench_->Say("scale", {0, 1, 1}, {256, 1, 1}),
            "launch_rejected: kernel scale: the grid (0,1,1) is empty");
  EXPECT_EQ(bench_->Say("scale", {1, 1, 1}, {2048, 1, 1}),
            "launch_rejected: kernel scale: the block (2048,1,1) has 2048 threads, but this kernel "
            "takes at most 1024");
  EXPECT_EQ(bench_->Say("scale", {1, 1, 1}, {1, 1, 128}),
            "launch_rejected: kernel scale: the block (1,1,128) has 128 threads, but no side may "
            "exceed (1024,1024,64)");
  EXPECT_EQ(bench_->Say("scale", {1, 70000, 1}, {32, 1, 1}),
            "launch_rejected: kernel scale: the grid (1,70000,1) is larger than "
            "(2147483647,65535,65535)");
  EXPECT_EQ(bench_->Say("scale", {1, 1, 1}, {32, 1, 1}, 300000),
            "launch_rejected: kernel scale: needs 300000 bytes of shared memory per block (0 "
            "static and 300000 dynamic), "
            "but NVIDIA H200 has 232448");
  EXPECT_EQ(bench_->Say("scale", {100000, 1, 1}, {1024, 1, 1}, 0, true),
            "launch_rejected: kernel scale: a cooperative grid of 100000 blocks cannot be resident "
            "at once: NVIDIA H200 "
            "holds 264 blocks of this size");
  bench_->Clear();
  EXPECT_EQ(bench_->Say("scale", {1, 1, 1}, {32, 1, 1}),
            "launch_rejected: kernel scale: the launch passes 0 bytes of parameters, the kernel "
            "takes 20");
}

TEST_F(PtxFault, RefusesDynamicSharedMemoryThatTheLaunchDidNotAskFor) {
  bench_->With(y_);
  EXPECT_EQ(bench_->Say("dynamic", {1, 1, 1}, {32, 1, 1}),
            "out_of_bounds: kernel dynamic (line 50), block (0,0,0) thread (0,0,0): writes 4 bytes "
            "of shared memory, but the "
            "launch gives it none");
  EXPECT_EQ(bench_->Say("dynamic", {1, 1, 1}, {32, 1, 1}, 64),
            "out_of_bounds: kernel dynamic (line 50), block (0,0,0) thread (16,0,0): writes 4 "
            "bytes of shared memory at "
            "buffer[16], 0 bytes past the end of buffer (16 elements of 4 bytes)");
  EXPECT_EQ(bench_->Say("dynamic", {1, 1, 1}, {32, 1, 1}, 128), "ok");
}

TEST_F(PtxFault, SaysWhichLanesAWarpInstructionLeavesOut) {
  bench_->With(y_);
  EXPECT_THAT(bench_->Say("half_warp", {1, 1, 1}, {32, 1, 1}),
              StartsWith("device_fault: kernel half_warp"));
}

std::string Ptx(const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg "
         ".b32 %r<4>;\n" +
         body + "\nret;\n}\n";
}

TEST(PtxUnsupported, NamesTheInstruction) {
  EXPECT_EQ(Bench(Ptx("frobnicate.s32 %r1, %r2;")).Say("k", {1, 1, 1}, {1, 1, 1}),
            "unsupported: the CPU device does not know the PTX instruction frobnicate.s32");
}

TEST(PtxUnsupported, NamesTheModifier) {
  EXPECT_EQ(Bench(Ptx("add.wild.s32 %r1, %r2, %r3;")).Say("k", {1, 1, 1}, {1, 1, 1}),
            "unsupported: the CPU device does not know the PTX instruction add.wild.s32");
  EXPECT_EQ(
      Bench(Ptx("ld.global.L3::never.u32 %r1, [p];")).Say("k", {1, 1, 1}, {1, 1, 1}),
      "unsupported: the CPU device does not know the PTX instruction ld.global.L3::never.u32");
}

TEST(PtxUnsupported, RefusesRecursion) {
  std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.func f() { call f; ret; }\n"
      ".visible .entry k() { call f; ret; }\n";
  EXPECT_EQ(Bench(ptx).Say("k", {1, 1, 1}, {1, 1, 1}),
            "unsupported: the device function f calls itself: recursion is not supported by the "
            "CPU device");
}

TEST(PtxUnsupported, KnowsNoSuchKernel) {
  EXPECT_EQ(Bench(Ptx("")).Say("nope", {1, 1, 1}, {1, 1, 1}),
            "bad_candidate: the compiled module has no kernel nope");
}

TEST(OpenPtx, SaysWhichModelsThereAre) {
  EvalOptions options;
  options.model_gpu = "voodoo2";
  Result<std::unique_ptr<Device>> device = OpenPtx(options);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message,
            "The CPU device has no model of the GPU 'voodoo2'. Known are h200, h100, a100.");
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
