// PTX is data from a compiler that candidates steer: whatever it says, the loader answers.
#include <gtest/gtest.h>

#include <random>

#include "device/ptx/bench.h"
#include "device/ptx/lower.h"

namespace cudaagent::device::ptx::test {
namespace {

// Small, but with every kind of declaration the parser knows.
constexpr const char* kText = R"(.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 4 .b8 tab[16] = {0, 0, 128, 63, 1};
.global .align 8 .u64 ptr[2] = {tab, generic(tab)};
.const .align 4 .f32 c[2] = {0f3F800000, 0f40000000};
.extern .shared .align 16 .b8 sm[];
.func (.param .b32 r) twice(.param .b32 a) {
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [a];
  add.s32 %r2, %r1, %r1;
  st.param.b32 [r+0], %r2;
  ret;
}
.visible .entry k(.param .u64 p, .param .u32 n)
.maxntid 64, 1, 1
{
  .local .align 8 .b8 depot[16];
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<10>;
  .shared .align 4 .b8 tile[256];
  .loc 1 10 3
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u64 %rd4, depot;
  st.local.u32 [%rd4+4], %r2;
  mov.u32 %r3, tile;
  mad.lo.s32 %r4, %r2, 4, %r3;
  st.shared.u32 [%r4], %r2;
  bar.sync 0;
  ld.shared.u32 %r5, [%r4];
  setp.lt.s32 %p1, %r5, 16;
  @%p1 bra $L1;
  { .reg .b32 %t; .param .b32 param0; st.param.b32 [param0+0], %r5; .param .b32 ret0;
  call.uni (ret0), twice, (param0); ld.param.b32 %t, [ret0+0]; add.s32 %r5, %t, 1; }
$L1:
  shfl.sync.bfly.b32 %r6|%p2, %r5, 1, 31, -1;
  atom.global.add.u32 %r7, [%rd3], %r6;
  cvt.rn.f32.s32 %f1, %r7;
  fma.rn.f32 %f2, %f1, 0f3F000000, %f1;
  ex2.approx.ftz.f32 %f3, %f2;
  cvt.rzi.s32.f32 %r8, %f3;
  st.global.v2.u32 [%rd1], {%r8, %r5};
  ret;
}
)";

std::string Try(const std::string& ptx, uint64_t budget = 200'000) {
  Bench bench(ptx, BestExecutor(), 1, budget);
  Buffer<uint32_t> data{"data", std::vector<uint32_t>(64)};
  bench.With(data).Arg(64u);
  return bench.Say("k", {2, 1, 1}, {64, 1, 1});
}

TEST(PtxHostile, TheTextItselfRuns) { EXPECT_EQ(Try(kText), "ok"); }

TEST(PtxHostile, AnswersEveryTruncation) {
  std::string text = kText;
  for (size_t n = 0; n < text.size(); n += 3) Try(text.substr(0, n));
}

TEST(PtxHostile, AnswersEveryMutation) {
  std::string text = kText;
  std::mt19937_64 random(1);
  const std::string pieces[] = {"{",
                                "}",
                                "(",
                                ")",
                                "[",
                                "]",
                                ";",
                                ",",
                                ".",
                                "%r1",
                                "%rd1",
                                "-1",
                                "0x",
                                "99999999999999999999",
                                "bra",
                                "ret",
                                "\"",
                                "/*",
                                "//",
                                "\n",
                                ".reg",
                                ".param",
                                "bar.sync",
                                "|",
                                "+",
                                "@",
                                "<4000000000>",
                                "0f",
                                "call",
                                "_",
                                "$L1",
                                "brx.idx",
                                "p",
                                "k",
                                "twice",
                                "\x01",
                                "\xff",
                                ".align 3",
                                "[2000000000]"};
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = text;
    int edits = 1 + static_cast<int>(random() % 3);
    for (int e = 0; e < edits; ++e) {
      size_t at = random() % mutated.size();
      switch (random() % 5) {
        case 0:
          mutated[at] = static_cast<char>(random());
          break;
        case 1:
          mutated.erase(at, 1 + random() % 8);
          break;
        case 2:
          mutated.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 3:
          mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 40));
          break;
        default: {
          // Swap two lines: uses before definitions, labels elsewhere.
          size_t a = mutated.find('\n', at), b = mutated.find('\n', random() % mutated.size());
          if (a != std::string::npos && b != std::string::npos && a < b) {
            std::string line = mutated.substr(a, mutated.find('\n', a + 1) - a);
            mutated.insert(b, line);
          }
        }
      }
      if (mutated.empty()) mutated = ";";
    }
    Try(mutated, 20'000);
  }
}

TEST(PtxHostile, AnswersMutationsOfWhatTheCompilerWrites) {
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing();
  std::string text = CompileToPtx(R"(
#include <cuda_fp16.h>
extern "C" __global__ void k(float* x, int n) {
  __shared__ float s[64];
  s[threadIdx.x & 63] = x[threadIdx.x & 63];
  __syncthreads();
  float v = __shfl_down_sync(~0u, s[threadIdx.x & 63], 1) + sinf(x[0]);
  __half2 h = __float2half2_rn(v);
  if (threadIdx.x < n) x[threadIdx.x & 63] = __low2float(__hfma2(h, h, h)) / 3.0f;
})");
  std::mt19937_64 random(2);
  for (int round = 0; round < 400; ++round) {
    std::string mutated = text;
    for (int e = 0; e < 2; ++e) {
      size_t at = random() % mutated.size();
      if (random() % 2) {
        mutated[at] = "0123456789rfdp,.;[]%"[random() % 20];
      } else {
        size_t line = mutated.find('\n', at);
        if (line != std::string::npos) mutated.erase(line, mutated.find('\n', line + 1) - line);
      }
    }
    Try(mutated, 50'000);
  }
}

TEST(PtxHostile, RefusesSizesThatWouldEatTheMemory) {
  auto entry = [](const std::string& body) {
    return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, "
           ".param .u32 n) {\n" +
           body + "\nret;\n}\n";
  };
  EXPECT_EQ(Try(entry(".local .align 8 .b8 depot[900000000];")),
            "unsupported: the kernel k needs more than 512 KiB of local memory per thread");
  EXPECT_EQ(Try(entry(".shared .align 8 .b8 tile[900000000];")),
            "unsupported: shared variables larger than 16 MiB");
  EXPECT_EQ(Try(entry(".reg .b32 %r<4000000000>;\nmov.u32 %r3999999, 1;")), "ok");
  EXPECT_EQ(Try(".version 9.0\n.target sm_90a\n.global .b8 huge[99999999999];"),
            "unsupported: PTX line 3: a variable larger than 1 GiB at ';'");
  std::string deep = entry(std::string(5000, '{') + std::string(5000, '}'));
  EXPECT_EQ(Try(deep).substr(0, 12), "unsupported:");
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
