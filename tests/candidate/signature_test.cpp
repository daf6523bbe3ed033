#include <gtest/gtest.h>

#include "candidate/problem_fixture.h"

namespace cudaagent::candidate {
namespace {

std::string Check(const std::string& args, const std::string& demangled) {
  auto parsed = ParseCandidate(
      MakeSource("\"steps\": [{\"kernel\": \"f<256>\", \"grid\": [1], \"block\": [1], \"args\": [" +
                 args + "]}]"));
  if (!parsed) return parsed.error().message;
  auto checked = CheckSignature(std::get<KernelStep>(parsed->plan.steps[0].what), demangled);
  return checked ? "" : checked.error().message;
}

TEST(CheckSignatureTest, AcceptsWhatFits) {
  EXPECT_EQ(Check("\"$x\", {\"i32\": 1}", "void f<256, 2>(float4 const*, int)"), "");
  EXPECT_EQ(Check("\"$x\", {\"u32\": 1}, {\"i64\": 1}", "void f<256>(float*, int, unsigned long)"),
            "");
  EXPECT_EQ(Check("{\"f32\": 1}, {\"f64\": 1}, {\"bool\": true}", "f(float, double, bool)"), "");
  EXPECT_EQ(Check("{\"f16\": 1}, {\"bf16\": 1}", "f(__half, __nv_bfloat16)"), "");
  EXPECT_EQ(Check("\"$x\"", "void (anonymous namespace)::f<(Mode)2>(Pack<float, 2> const*)"), "");
  EXPECT_EQ(Check("\"$x\", {\"i32\": 2}", "f(float (*) [4], Mode)"), "")
      << "an enum's size is the device's to check";
  EXPECT_EQ(Check("", "f()"), "");
  EXPECT_EQ(Check("", "f(void)"), "");
  EXPECT_EQ(Check("\"$x\"", "f"), "") << "extern \"C\" names carry no signature";
}

TEST(CheckSignatureTest, NamesTheArgumentThatDoesNotFit) {
  EXPECT_EQ(Check("\"$x\"", "void f<256>(float*, int)"),
            "kernel \"f<256>\": the plan passes 1 arguments, but the kernel takes 2: \"void "
            "f<256>(float*, int)\"");
  EXPECT_EQ(Check("\"$x\", {\"i32\": 1}", "void f<256>(float*, long)"),
            "kernel \"f<256>\": args[1] is {\"i32\": ...}, but parameter 2 is \"long\"; write "
            "{\"i64\": ...}");
  EXPECT_EQ(
      Check("{\"f32\": 1}", "f(float const*)"),
      "kernel \"f<256>\": args[0] is {\"f32\": ...}, but parameter 1 is \"float const*\"; write "
      "\"$name\"");
  EXPECT_EQ(Check("\"$x\"", "f(float)"),
            "kernel \"f<256>\": args[0] is a tensor, but parameter 1 is \"float\"; write {\"f32\": "
            "...}");
  EXPECT_EQ(
      Check("\"$x\"", "f(View<float, 2>)"),
      "kernel \"f<256>\": args[0] is a tensor, but parameter 1 is \"View<float, 2>\"; change the "
      "parameter's type");
  EXPECT_EQ(
      Check("{\"i32\": 1}", "f(short)"),
      "kernel \"f<256>\": args[0] is {\"i32\": ...}, but parameter 1 is \"short\"; change the "
      "parameter's type");
}

}  // namespace
}  // namespace cudaagent::candidate
