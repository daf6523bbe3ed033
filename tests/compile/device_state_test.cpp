#include "compile/device_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/pool_driver.h"
#include "compile/ptx_scan.h"
#include "compile/ptx_text.h"

namespace cudaagent::compile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "runs 4 written", "table 16 maybe"
std::vector<std::string> Told(const std::vector<DeviceVariable>& state) {
  std::vector<std::string> told;
  for (const DeviceVariable& each : state) {
    told.push_back(each.name + " " + std::to_string(each.bytes) +
                   (each.certain ? " written" : " maybe"));
  }
  return told;
}

class DeviceStateTest : public testing::Test {
 protected:
  // What NVRTC makes of `code`, which defines the kernel k.
  std::vector<std::string> StateOf(const std::string& code) {
    const auto reply = driver_.Run(code, {"k"});
    EXPECT_TRUE(reply.ok) << reply.message << reply.report.log;
    return Told(reply.report.device_state);
  }

  PoolDriver driver_;
};

TEST_F(DeviceStateTest, IsFoundHoweverItIsWritten) {
  EXPECT_THAT(
      StateOf("__device__ int runs;\n__device__ float cache[64];\n__device__ unsigned ticket;\n"
              "namespace ns { __device__ float4 last; }\n"
              "template <int N> __device__ int many[N];\n"
              "__global__ void k(float* y, int n) {\n"
              "  static int hidden = 0;\n"
              "  ++runs; cache[n] = y[n]; atomicInc(&ticket, 3); many<5>[n] = 1;\n"
              "  ns::last = make_float4(1, 2, 3, n); y[0] = ++hidden + ns::last.x;\n}\n"),
      testing::UnorderedElementsAre("runs 4 written", "cache 256 written", "ticket 4 written",
                                    "ns::last 16 written", "many<5> 20 written",
                                    "k(float*, int)::hidden 4 written"));
}

TEST_F(DeviceStateTest, IsNotWhatIsOnlyRead) {
  EXPECT_THAT(
      StateOf("static const float table[4] = {1, 2, 3, 4};\n"
              "__device__ const int more[3] = {7, 8, 9};\n"
              "__device__ float not_even_const[4] = {1, 2, 3, 4};\n"
              "__constant__ float c[2] = {1, 2};\n"
              "__device__ __noinline__ float get(const float* p, int i) { return p[i]; }\n"
              "__global__ void k(float* y, int n) {\n"
              "  __shared__ float s[32];\n  s[n] = y[n];\n  __syncthreads();\n"
              "  for (int i = 0; i < n; ++i) y[i] += table[n & 3] * not_even_const[i & 3];\n"
              "  y[0] = get(table, n) + more[n % 3] + c[n & 1] + s[0];\n"
              "  printf(\"%d\\n\", n);\n  assert(n);\n}\n"),
      IsEmpty());
}

TEST_F(DeviceStateTest, MayBeStateWhereItsAddressGetsAway) {
  EXPECT_THAT(
      StateOf("__device__ float one[16];\n__device__ int two[8];\n__device__ int* to_two = two;\n"
              "__device__ __noinline__ void put(float* p, int i) { p[i] = i; }\n"
              "__global__ void k(float* y, int n) {\n"
              "  put(n > 3 ? one : y, n);\n  to_two[n] = 3;\n}\n"),
      testing::UnorderedElementsAre("one 64 maybe", "two 32 maybe"));
}

TEST_F(DeviceStateTest, IsFoundInInlineAssemblyOfAnyShape) {
  EXPECT_THAT(StateOf("__device__ int runs;\n"
                      "__global__ void k(int* y) { y[0] = runs;"
                      " asm volatile(\"st\\n .global .u32 [ runs ] , %0;\" :: \"r\"(1)); }\n"),
              ElementsAre("runs 4 written"));
  EXPECT_THAT(StateOf("__device__ int runs;\n"
                      "__global__ void k(int* y) { y[0] = runs; asm volatile(\".loc 1 1 1 { .reg "
                      ".u64 t; mov.u64 t, "
                      "runs; /* ; { */ st.global.u32 [t], 1; }\"); }\n"),
              ElementsAre("runs 4 written"));
}

TEST(FindDeviceStateTest, FollowsAddressesRoundALoop) {
  EXPECT_THAT(Told(FindDeviceState(".global .align 4 .b8 a[8];\n.global .u64 b;\n"
                                   ".visible .entry k()\n{\n.reg .b64 %rd<4>;\n"
                                   "L: st.global.u32 [%rd3], 1;\nmov.b64 %rd3, %rd2;\n"
                                   "add.s64 %rd2, %rd1, 4;\nmov.u64 %rd1, a;\n"
                                   "ld.global.u64 %rd0, [b];\nbra.uni L;\n}\n")),
              ElementsAre("a 8 written"));
}

TEST(FindDeviceStateTest, KeepsRegistersOfFunctionsApart) {
  EXPECT_THAT(Told(FindDeviceState(".global .u32 a;\n"
                                   ".func f()\n{\nmov.u64 %rd1, a;\nld.global.u32 %r1, [%rd1];\n}\n"
                                   ".func g()\n{\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], "
                                   "%r1;\n}\n")),
              IsEmpty());
}

TEST(FindDeviceStateTest, KnowsBulkCopies) {
  const std::string head = ".global .align 16 .b8 a[64];\n.entry k()\n{\nmov.u64 %rd1, a;\n";
  EXPECT_THAT(Told(FindDeviceState(
                  head + "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64;\n}\n")),
              ElementsAre("a 64 written"));
  EXPECT_THAT(Told(FindDeviceState(
                  head + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%r1], [%rd1], 64, [%r2];\n}\n")),
              IsEmpty());
  EXPECT_THAT(Told(FindDeviceState(head + "cp.async.ca.shared.global [%r1], [%rd1], 16;\n}\n")),
              IsEmpty());
}

TEST(FindDeviceStateTest, TellsALessOfAModuleWithVeryManyVariables) {
  std::string ptx;
  for (int i = 0; i < 200; ++i) ptx += ".global .u32 v" + std::to_string(i) + ";\n";
  const auto state =
      FindDeviceState(ptx + ".entry k()\n{\nst.global.u32 [v3], 1;\nst.global.u32 [v150], 1;\n}\n");
  ASSERT_EQ(state.size(), 138u);
  EXPECT_EQ(state[0].name, "v3");
  EXPECT_TRUE(state[0].certain);
  EXPECT_FALSE(state[1].certain);
}

TEST(FindDeviceStateTest, EndsOnAnyText) {
  for (const char* text :
       {"", "{", "}", "}}}{", ".global", ".global .u32", ".global .u32 x[", "= {", "{=;}",
        ".global .b8 x[99999999999999999999][9];", "call", "[", ".entry k() { st.", "\"", "/*"}) {
    FindDeviceState(PlainPtx(text));
    ScanPtx(text);
  }
}

TEST(PlainPtxTest, DropsCommentsAndQuotedTextOnly) {
  EXPECT_EQ(PlainPtx("a // b\nc /* d\n \" */ e \"f // g\" h\n\"open\ni"),
            "a  \nc   e \"\" h\n\"\"\ni");
}

TEST(PtxScanTest, MeasuresStaticMemory) {
  const PtxSymbols symbols = ScanPtx(
      ".global .align 4 .b8 a[16];\n.global .v4 .f32 b;\n.global .attribute(.managed) .u64 "
      "c[2][3];\n"
      ".entry k(\n.param .u64 .ptr .global .align 4 p\n)\n{\n.shared .align 1 .b8 "
      "s[1099511627776];\n"
      ".local .align 8 .b8 __local_depot0[64];\n.reg .b32 %r<2>;\nst .global .u32 [%rd1], "
      "%r1;\n}\n");
  EXPECT_EQ(symbols.global_bytes, 16 + 16 + 48);
  EXPECT_EQ(symbols.shared_bytes, 1099511627776);
  EXPECT_EQ(symbols.local_bytes, 64);
}

}  // namespace
}  // namespace cudaagent::compile
