// Instructions that sense the timing or reach into the cache, in what NVRTC makes of real code:
// each is refused with a reason or told in the report's flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/pool_driver.h"

namespace cudaagent::compile {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// The parameters of k: "long long* y, const float* x, int n".
protocol::CompileReply Compile(PoolDriver& driver, const std::string& body,
                               const std::string& before = "") {
  return driver.Run(
      before + "\n__global__ void k(long long* y, const float* x, int n) {\n" + body + "\n}\n",
      {"k"});
}

std::string Asm(const std::string& text, const std::string& operands) {
  return "asm volatile(\"" + text + "\" : " + operands + ");";
}

class PtxRulesTest : public testing::Test {
 protected:
  void ExpectRefused(const std::string& body, const std::string& what,
                     const std::string& before = "") {
    const auto reply = Compile(driver_, body, before);
    EXPECT_EQ(reply.verdict, Verdict::kSuspectedHack) << body << reply.message << reply.report.log;
    EXPECT_THAT(reply.message, HasSubstr(what)) << body;
    EXPECT_EQ(reply.report.cubin_path, "") << body;
  }
  void ExpectTold(const std::string& body, const std::string& flag,
                  const std::string& before = "") {
    const auto reply = Compile(driver_, body, before);
    EXPECT_TRUE(reply.ok) << body << reply.message << reply.report.log;
    EXPECT_THAT(reply.report.flags, Contains(flag)) << body;
  }

  PoolDriver driver_;
};

TEST_F(PtxRulesTest, RefuseEveryClock) {
  ExpectRefused("y[0] = clock();", "reads the clock (%clock");
  ExpectRefused("y[0] = clock64();", "reads the clock (%clock64)");
  ExpectRefused(Asm("mov.u64 %0, %%globaltimer;", "\"=l\"(y[0])"),
                "reads the clock (%globaltimer)");
  for (const char* name : {"clock", "clock_hi", "globaltimer_lo", "globaltimer_hi", "pm0", "pm3"}) {
    ExpectRefused(
        "int t; " + Asm("mov.u32 %0, %%" + std::string(name) + ";", "\"=r\"(t)") + " y[0] = t;",
        "reads the clock (%" + std::string(name) + ")");
  }
}

TEST_F(PtxRulesTest, RefuseWhatTellsOneLaunchFromAnother) {
  ExpectRefused(Asm("mov.u64 %0, %%gridid;", "\"=l\"(y[0])"),
                "reads %gridid, which tells one launch");
  ExpectRefused(Asm("mov.u64 %0, %%current_graph_exec;", "\"=l\"(y[0])"),
                "reads %current_graph_exec, which tells one launch");
}

TEST_F(PtxRulesTest, RefusePoliciesThatOutlastTheFlush) {
  ExpectRefused(Asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;", "\"=l\"(y[0])"),
                "createpolicy evict_last");
  ExpectRefused(Asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;",
                    "\"=l\"(y[0])"),
                "createpolicy evict_last");
  ExpectRefused(Asm("prefetch.global.L2::evict_last [%0];", ": \"l\"(x)"), "L2::evict_last");
  ExpectRefused(Asm("discard.global.L2 [%0], 128;", ": \"l\"(y)"), "\"discard\"");
  ExpectRefused("cuda::discard_memory(y, 1024);", "\"discard\"", "#include <cuda/annotated_ptr>");
}

// Loads that name a priority in L2 are sm_100's.
TEST_F(PtxRulesTest, RefuseLoadsThatKeepLines) {
  auto job = PoolDriver::Job(
      "__global__ void k(float* y, const float* x) {\n  float a, b, c, d, e, f, g, h;\n"
      "  asm volatile(\"ld.global.L2::evict_last.v8.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];\""
      " : \"=f\"(a), \"=f\"(b), \"=f\"(c), \"=f\"(d), \"=f\"(e), \"=f\"(f), \"=f\"(g), \"=f\"(h)"
      " : \"l\"(x));\n  y[0] = a + b + c + d + e + f + g + h;\n}\n",
      {"k"});
  job.arch = "sm_100a";
  const auto reply = driver_.Run(job);
  EXPECT_EQ(reply.verdict, Verdict::kSuspectedHack) << reply.message << reply.report.log;
  EXPECT_THAT(reply.message, HasSubstr("L2::evict_last"));
}

TEST_F(PtxRulesTest, RefuseThemHoweverTheAssemblyIsSpelt) {
  // A directive, a comment or an open quote before the instruction.
  ExpectRefused(Asm(".reg .u64 t; mov.u64 t, %%clock64; mov.u64 %0, t;", "\"=l\"(y[0])"),
                "%clock64");
  ExpectRefused(Asm(".loc 1 1 1 mov.u64 %0, %%clock64;", "\"=l\"(y[0])"), "%clock64");
  ExpectRefused(Asm("/* // \\\" */ mov.u64 %0, %%clock64; /* \\\" */", "\"=l\"(y[0])"), "%clock64");
  ExpectRefused(Asm("// \\n mov.u64 %0,\\n%%clock64\\n;", "\"=l\"(y[0])"), "%clock64");
  // Pieces, macros, raw strings, template arguments.
  ExpectRefused(Asm("mov.u64 %0, %%\" \"clo\" \"ck64;", "\"=l\"(y[0])"), "%clock64");
  ExpectRefused("READ(clo, ck64)", "%clock64",
                "#define JOIN(a, b) a##b\n#define TEXT(x) #x\n#define SPELL(x) TEXT(x)\n"
                "#define READ(a, b) asm volatile(\"mov.u64 %0, %%\" SPELL(JOIN(a, b)) \";\" : "
                "\"=l\"(y[0]));");
  ExpectRefused("asm volatile(R\"x(mov.u64 %0, %%clock64;)x\" : \"=l\"(y[0]));", "%clock64");
  ExpectRefused("asm volatile(\"mov.u64 %0, %%cl\\157ck64;\" : \"=l\"(y[0]));", "%clock64");
  // In a function of its own.
  ExpectRefused("y[0] = hidden();", "%clock64",
                "__device__ __noinline__ long long hidden() { return clock64(); }");
}

TEST_F(PtxRulesTest, TellWhatOnlyTouchesTheCache) {
  ExpectTold(Asm("prefetch.global.L2 [%0];", ": \"l\"(x)"), "prefetch");
  ExpectTold(Asm("cp.async.bulk.prefetch.L2.global [%0], 128;", ": \"l\"(x)"), "prefetch");
  ExpectTold(Asm("applypriority.global.L2::evict_normal [%0], 128;", ": \"l\"(x)"),
             "applypriority");
  ExpectTold(Asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;", "\"=l\"(y[0])"),
             "createpolicy");
  ExpectTold("float v; " +
                 Asm("ld.global.L2::cache_hint.f32 %0, [%1], %2;",
                     "\"=f\"(v) : \"l\"(x), \"l\"(0x14F0000000000000)") +
                 " y[0] = v;",
             "L2::cache_hint");
}

TEST_F(PtxRulesTest, TellDependentLaunches) {
  ExpectTold(
      "asm volatile(\"griddepcontrol.wait;\"); asm "
      "volatile(\"griddepcontrol.launch_dependents;\"); y[0] = n;",
      "griddepcontrol");
}

TEST_F(PtxRulesTest, TellNothingOfPlainCode) {
  const auto reply =
      Compile(driver_, "y[n] = __ldg(x + n) + __ldcs(x); // %clock64 discard createpolicy",
              "__device__ const char text[] = \"%clock64 discard\";");
  EXPECT_TRUE(reply.ok) << reply.message;
  EXPECT_THAT(reply.report.flags, IsEmpty());
  EXPECT_THAT(reply.report.device_state, IsEmpty());
}

TEST_F(PtxRulesTest, KnowTheToolkitsOwnBarriers) {
  ExpectTold(
      "__shared__ cuda::barrier<cuda::thread_scope_block> b; if (n == 0) init(&b, 32); "
      "__syncthreads();"
      " b.arrive_and_wait(); y[0] = n;",
      "%globaltimer", "#include <cuda/barrier>");
}

TEST_F(PtxRulesTest, ACommentIsNoBarrierOfTheToolkit) {
  ExpectRefused(Asm("mov.u64 %0, %%globaltimer;", "\"=l\"(y[0])"), "reads the clock (%globaltimer)",
                "// #include <cuda/barrier>");
}

TEST_F(PtxRulesTest, RefuseStaticMemoryThatNoDeviceHas) {
  auto reply =
      Compile(driver_, "big[n] = n; y[0] = big[n + 1];", "__device__ char big[1ull << 40];");
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(reply.message,
            "The code's __device__ variables take 1 TiB, more than the 1 GiB allowed; use a "
            "buffer of the plan.");
  reply = Compile(driver_,
                  "__shared__ char big[1ull << 40]; big[n] = n; __syncthreads(); y[0] = big[3];");
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(reply.message,
            "The code's __shared__ variables take 1 TiB, more than the 1 MiB allowed.");
  reply = Compile(driver_, "volatile char big[1ull << 36]; big[n] = n; y[0] = big[3];");
  EXPECT_EQ(reply.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(reply.message,
            "The code's local arrays of one thread take 64 GiB, more than the 1 MiB allowed.");
}

}  // namespace
}  // namespace cudaagent::compile
