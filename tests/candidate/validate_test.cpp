// Sentences of ValidatePlan: a plan against a problem.
#include "candidate/validate.h"

#include <gtest/gtest.h>

#include "candidate/problem_fixture.h"

namespace cudaagent::candidate {
namespace {

std::string Kernel(const std::string& name, const std::string& args,
                   const std::string& grid = "[1]", const std::string& block = "[32]",
                   const std::string& more = "") {
  return "{\"kernel\": \"" + name + "\", \"grid\": " + grid + ", \"block\": " + block +
         ", \"args\": [" + args + "]" + more + "}";
}

std::string Op(const std::string& name, const std::string& args, const std::string& out) {
  return "{\"op\": \"aten::" + name + "\", \"args\": [" + args + "], \"out\": \"" + out + "\"}";
}

TEST(ValidatePlanTest, AcceptsWhatTheFormatOffers) {
  const std::string fields = R"j("tune": {"B": [256]}, "require": ["x.size(1) % B == 0"],
    "buffers": {"sums": {"dtype": "float32", "shape": ["device.sms", 4], "zero": true}},
    "prepared": {"wt": {"dtype": "float32", "shape": ["fc.weight.size(1)", "fc.weight.size(0)"]}},
    "prepare": [{"op": "aten::t", "args": ["$fc.weight"], "out": "v"},
                {"op": "aten::contiguous", "args": ["$v"], "out": "wt"}],
    "steps": [
      {"op": "aten::matmul", "args": ["$x", "$wt"], "out": "h"},
      {"op": "aten::relu", "args": ["$h"], "out": "h"},
      {"kernel": "f<B>", "grid": ["device.sms * 2", "h.size(0)"], "block": ["B"],
       "args": ["$h", "$sums", {"ptr": "$param:mask", "offset": 4}, {"i32": "h.numel"}]},
      {"repeat": "i", "count": 2, "steps": [
        {"op": "aten::mul.Tensor", "args": ["$layers.{i}.w", "$scale"], "out": "r{i}"}]},
      {"op": "aten::add.out", "args": ["$h", "$fc.bias"], "kwargs": {"out": "$out0"}}])j";
  EXPECT_EQ(Complaint(MakeSource(fields)), "");
}

TEST(ValidatePlanTest, NamesMustBeKnownAndBoundBeforeUse) {
  EXPECT_EQ(StepComplaint(Kernel("g", "\"$fc.wieght\", {\"i32\": 1}")),
            "steps[0].args[0]: unknown tensor \"fc.wieght\"; did you mean \"fc.weight\"?");
  EXPECT_EQ(StepComplaint(Op("relu", "\"$h\"", "t") + ", " + Op("relu", "\"$x\"", "h")),
            "steps[0].args[0]: \"h\" has no value yet; steps[1] binds it later");
  EXPECT_EQ(StepComplaint(Kernel("g", "\"$x\", {\"i32\": \"BLOK\"}"), "\"tune\": {\"BLOCK\": [1]}"),
            "steps[0].args[1]: unknown name \"BLOK\"; did you mean \"BLOCK\"? in \"BLOK\"");
  EXPECT_EQ(StepComplaint(Kernel("g", "\"$x\"", "[\"y.numel\"]")),
            "steps[0].grid[0]: unknown tensor \"y\"; known: 0.weight, const0, fc.bias, fc.weight, "
            "layers.0.w, layers.1.w, mask, out0, x in \"y.numel\"");
  EXPECT_EQ(StepComplaint(Kernel("g", "\"$scale\"")),
            "steps[0].args[0]: \"$scale\" is a non-tensor input, not a tensor; pass a typed scalar "
            "such as {\"i32\": \"scale\"} or {\"f32\": {\"fexpr\": \"scale\"}}");
  EXPECT_EQ(StepComplaint(Kernel("g", "{\"i32\": \"scale\"}")),
            "steps[0].args[0]: \"scale\" is not an integer in \"scale\"");
  EXPECT_EQ(StepComplaint(Op("relu", "\"$B\"", "t"), "\"tune\": {\"B\": [1]}"),
            "steps[0].args[0]: \"$B\" is a tune name; write {\"expr\": \"B\"}");
  EXPECT_EQ(StepComplaint(Op("relu", "[\"$x\", [\"$z\"]]", "t")).substr(0, 43),
            "steps[0].args[0][1][0]: unknown tensor \"z\";");
}

TEST(ValidatePlanTest, OwnNamesMustBeNew) {
  EXPECT_EQ(StepComplaint(Op("relu", "\"$x\"", "x")),
            "steps[0].out: the name \"x\" is an input already; choose a new one");
  EXPECT_EQ(StepComplaint("{\"repeat\": \"n\", \"count\": 1, \"steps\": [" +
                          Op("relu", "\"$x\"", "t") + "]}"),
            "steps[0].repeat: the name \"n\" is a non-tensor input already; choose a new one");
  EXPECT_EQ(StepComplaint(Op("relu", "\"$x\"", "t"),
                          R"("buffers": {"t": {"dtype": "float32", "shape": [1]}})"),
            "steps[0].out: the name \"t\" is a buffer already; choose a new one");
  EXPECT_EQ(StepComplaint(Op("relu", "\"$x\"", "t"), R"("tune": {"x": [1]})"),
            "tune.x: the name \"x\" is an input already; choose a new one");
  EXPECT_EQ(StepComplaint(Op("relu", "\"$x\"", "t") + ", " + Op("relu", "\"$t\"", "t")), "");
}

TEST(ValidatePlanTest, InputsAndParametersAreNotWritten) {
  EXPECT_EQ(
      StepComplaint(R"({"op": "aten::relu_", "args": ["$x"]})"),
      "steps[0].args[0]: \"aten::relu_\" writes \"$x\", which is an input and must stay as it "
      "is");
  EXPECT_EQ(
      StepComplaint(R"({"op": "aten::relu.out", "args": ["$x"], "kwargs": {"out": "$fc.bias"}})"),
      "steps[0].kwargs.out: \"aten::relu\" writes \"$fc.bias\", which is a parameter and must "
      "stay as it is");
  EXPECT_EQ(
      StepComplaint(R"({"op": "aten::add_", "args": ["$wp", 1]})",
                    R"("prepared": {"wp": {"dtype": "float32", "shape": [512]}},
                             "prepare": [{"op": "aten::clone", "args": ["$fc.bias"], "out": "wp"}])"),
      "steps[0].args[0]: \"aten::add_\" writes \"$wp\", which is a prepared value and must stay "
      "as it is");
}

TEST(ValidatePlanTest, EveryOutputMustBeWritten) {
  ProblemInfo problem = MakeProblem();
  problem.outputs.push_back(MakeTensor("out1", {4}));
  EXPECT_EQ(Complaint(MakeSource("\"steps\": [" + Op("relu", "\"$x\"", "out0") + "]"), problem),
            "the output \"out1\" is never written; pass \"$out1\" to a kernel or bind an op's "
            "\"out\" to it");
  EXPECT_EQ(Complaint(MakeSource("\"steps\": [" + Op("relu", "\"$out0\"", "t") + "]")),
            "the output \"out0\" is never written; pass \"$out0\" to a kernel or bind an op's "
            "\"out\" to it");
  EXPECT_EQ(
      Complaint(MakeSource("\"steps\": [" +
                           Kernel("g", "\"$out0\"", "[1]", "[1]", ", \"when\": \"0\"") + "]")),
      "the output \"out0\" is never written; pass \"$out0\" to a kernel or bind an op's "
      "\"out\" to it");
}

TEST(ValidatePlanTest, RequireMustHold) {
  EXPECT_EQ(Complaint(MakeSource(
                R"j("tune": {"B": [100], "A": [1]}, "require": ["B > 0", "x.size(1) % B == 0"],
                        "steps": [{"op": "aten::relu", "args": ["$x"], "out": "out0"}])j")),
            "require[1]: \"x.size(1) % B == 0\" is false for this problem with A = 1, B = 100");
  EXPECT_EQ(Complaint(MakeSource(R"j("require": ["device.sms > 1"],
                        "steps": [{"op": "aten::relu", "args": ["$x"], "out": "out0"}])j")),
            "require[0]: a condition uses tune names and sizes of inputs and parameters only");
}

TEST(ValidatePlanTest, LaunchesMustBePossible) {
  EXPECT_EQ(StepComplaint(Kernel("g", "", "[\"x.size(0) / 100\"]")),
            "steps[0].grid[0]: \"x.size(0) / 100\" is 0; it must be 1 to 2147483647");
  EXPECT_EQ(StepComplaint(Kernel("g", "", "[1, 65536]")),
            "steps[0].grid[1]: \"65536\" is 65536; it must be 1 to 65535");
  EXPECT_EQ(StepComplaint(Kernel("g", "", "[1]", "[2048]")),
            "steps[0].block[0]: \"2048\" is 2048; it must be 1 to 1024");
  EXPECT_EQ(StepComplaint(Kernel("g", "", "[1]", "[64, 32]")),
            "steps[0].block: more than 1024 threads in a block; use at most 1024");
  EXPECT_EQ(StepComplaint(Kernel("g", "", "[1]", "[1]", ", \"shared_bytes\": \"0 - 4\"")),
            "steps[0].shared_bytes: \"0 - 4\" is -4; no device has that much shared memory");
  EXPECT_EQ(StepComplaint(Kernel("g", "{\"i32\": \"x.numel * 1000000\"}")),
            "steps[0].args[0]: \"x.numel * 1000000\" is 16384000000, which does not fit in i32");
  EXPECT_EQ(StepComplaint(Kernel("g", "{\"ptr\": \"$x\", \"offset\": \"x.numel\"}")),
            "steps[0].args[0].offset: 16384 is outside the 16384 elements of \"$x\"");
  EXPECT_EQ(
      StepComplaint(Kernel("g", "\"$x\"", "[1, 1, 1]", "[1]", ", \"when\": \"x.size(0) > 100\"")),
      "")
      << "a step whose \"when\" is false is not run";
}

TEST(ValidatePlanTest, NonContiguousTensorsNeedTheWordStrided) {
  ProblemInfo problem = MakeProblem();
  problem.inputs[0].contiguous = false;
  const std::string plain = "\"steps\": [" + Kernel("g", "\"$x\", \"$out0\"") + "]";
  EXPECT_EQ(
      Complaint(MakeSource(plain), problem),
      "steps[0].args[0]: \"$x\" is not contiguous; write {\"ptr\": \"$x\", \"strided\": true} "
      "and index by its strides");
  const std::string strided =
      "\"steps\": [" + Kernel("g", "{\"ptr\": \"$x\", \"strided\": true}, \"$out0\"") + "]";
  EXPECT_EQ(Complaint(MakeSource(strided), problem), "");
}

TEST(ValidatePlanTest, KernelsMustBeInTheCode) {
  EXPECT_EQ(Complaint(MakeSource("\"steps\": [" + Kernel("sofmax", "\"$out0\"") + "]",
                                 "__global__ void __launch_bounds__(256) softmax(float* y) {}")),
            "steps[0].kernel: the code has no kernel \"sofmax\"; did you mean \"softmax\"?");
  EXPECT_EQ(StepComplaint(Kernel("softmax", "")),
            "steps[0].kernel: the code has no kernel \"softmax\"; known: f, g");
  EXPECT_EQ(StepComplaint(Kernel("f<BLOK>", "")),
            "steps[0].kernel: the template argument \"BLOK\" is no tune name and does not occur in "
            "the code");
  EXPECT_EQ(StepComplaint(Kernel("f<{z.numel}>", "")).substr(0, 35),
            "steps[0].kernel: unknown tensor \"z\"");
  EXPECT_EQ(Complaint(MakeSource("\"steps\": [" + Kernel("f", "\"$out0\"") + "]",
                                 "__device__ void h() {}  // f(")),
            "steps[0].kernel: the code has no __global__ function");
  EXPECT_EQ(Complaint(MakeSource("\"steps\": [" + Kernel("ns::relu_k", "\"$out0\"") + "]",
                                 "#define K(n) __global__ void n##_k(float*) {}\nK(relu)")),
            "")
      << "pasted names are left to the compiler";
}

TEST(ValidatePlanTest, PrepareSeesParametersOnlyAndMustMakeItsValues) {
  const std::string prepared = R"("prepared": {"wp": {"dtype": "float32", "shape": [4]}})";
  const std::string steps = R"(, "steps": [{"op": "aten::relu", "args": ["$x"], "out": "out0"}])";
  EXPECT_EQ(
      Complaint(MakeSource(prepared + steps)),
      "prepared.wp: no prepare step makes it; pass \"$wp\" to a kernel or bind an op's \"out\" "
      "to it");
  EXPECT_EQ(Complaint(MakeSource(prepared + ", \"prepare\": [" + Op("relu", "\"$x\"", "wp") + "]" +
                                 steps)),
            "prepare[0].args[0]: \"$x\" is an input; prepare steps see parameters, constants and "
            "prepared values only");
  EXPECT_EQ(
      Complaint(MakeSource(prepared + ", \"prepare\": [" + Kernel("g", "\"$wp\"") + "]" + steps)),
      "");
  EXPECT_EQ(
      Complaint(MakeSource(prepared + ", \"prepare\": [" + Op("relu", "\"$fc.bias\"", "wp") + "]" +
                           R"(, "steps": [{"op": "aten::relu", "args": ["$x"], "out": "wp"}])")),
      "steps[0].out: the name \"wp\" is a prepared value already; choose a new one");
}

TEST(ValidatePlanTest, RealExpressionsAreCheckedWhereTheirNamesAreKnown) {
  const auto complaint = [](const std::string& fexpr) {
    return StepComplaint(Kernel("g", "\"$x\", {\"f32\": {\"fexpr\": \"" + fexpr + "\"}}"));
  };
  EXPECT_EQ(complaint("scale / sqrt(x.size(1))"), "");
  EXPECT_EQ(complaint("1 / device.sms"), "");
  EXPECT_EQ(complaint("1 / (x.size(0) - 64)"),
            "steps[0].args[1]: division by zero in \"1 / (x.size(0) - 64)\"");
  EXPECT_EQ(complaint("sclae"),
            "steps[0].args[1]: unknown name \"sclae\"; did you mean \"scale\"? in "
            "\"sclae\"");
}

TEST(ValidatePlanTest, MaxBlocksIsLeftToTheDevice) {
  const std::string buffers =
      R"json("buffers": {"part": {"dtype": "float32", "shape": ["max_blocks('f<32>', 32, 0)"]}})json";
  EXPECT_EQ(StepComplaint(Kernel("f<32>", "\"$x\", \"$part\"", "[\"max_blocks('f<32>', 32, 0)\"]"),
                          buffers),
            "");
  EXPECT_EQ(StepComplaint(Kernel("f<{max_blocks('g', 32, 0)}>", "\"$x\"")), "");
  const auto parsed = ParseCandidate(
      MakeSource("\"steps\": [" + Kernel("f<{max_blocks('g', 32, 0)}>", "\"$x\"") + "]"));
  ASSERT_TRUE(parsed);
  EXPECT_NE(KernelInstances(*parsed, MakeProblem())
                .error()
                .message.find("max_blocks is known on a device only"),
            std::string::npos);
}

TEST(ValidatePlanTest, EveryPointerOfAStructIsChecked) {
  EXPECT_EQ(StepComplaint(Kernel("g", R"({"ptrs": ["$x", {"ptr": "$fc.bias", "offset": 511}]})")),
            "");
  EXPECT_EQ(StepComplaint(Kernel("g", R"({"ptrs": ["$x", "$nothing"]})")).substr(0, 42),
            "steps[0].args[0]: unknown tensor \"nothing\"");
  EXPECT_EQ(Complaint(MakeSource("\"steps\": [" + Kernel("g", R"({"ptrs": ["$out0"]})") + "]")), "")
      << "an output written through a struct counts as written";
}

TEST(ValidatePlanTest, BufferShapesAreChecked) {
  auto buffer = [](const std::string& shape) {
    return StepComplaint(
        Op("relu", "\"$x\"", "h"),
        "\"buffers\": {\"t\": {\"dtype\": \"float32\", \"shape\": [" + shape + "]}}");
  };
  EXPECT_EQ(
      buffer("\"h.size(0)\""),
      "buffers.t.shape[0]: unknown tensor \"h\" in \"h.size(0)\"; shapes use sizes of inputs, "
      "parameters and constants, and tune names");
  EXPECT_EQ(buffer("\"x.size(0) - 65\""),
            "buffers.t.shape[0]: \"x.size(0) - 65\" is -1, a size is 0 or more");
  EXPECT_EQ(buffer("1048576, 1048576, 2"), "buffers.t: more than 2^40 elements");
  EXPECT_EQ(buffer("\"x.size(0)\", 3"), "");
}

TEST(ValidatePlanTest, RepeatsAreWalkedPassByPass) {
  auto repeat = [](const std::string& count, const std::string& step) {
    return StepComplaint("{\"repeat\": \"i\", \"count\": " + count + ", \"steps\": [" + step +
                         "]}");
  };
  EXPECT_EQ(repeat("2", Op("relu", "\"$layers.{i}.w\"", "r")), "");
  EXPECT_EQ(
      repeat("3", Op("relu", "\"$layers.{i}.w\"", "r")),
      "steps[0].steps[0].args[0]: unknown tensor \"layers.2.w\"; did you mean \"layers.0.w\"?");
  EXPECT_EQ(repeat("\"0 - 1\"", Op("relu", "\"$x\"", "r")),
            "steps[0].count: \"0 - 1\" is -1; it must be 0 to 1000000");
  EXPECT_EQ(repeat("1000000", Op("relu", "\"$x\"", "r")), "") << "long repeats are sampled";
  EXPECT_EQ(
      repeat("2",
             "{\"repeat\": \"i\", \"count\": 1, \"steps\": [" + Op("relu", "\"$x\"", "r") + "]}"),
      "steps[0].steps[0].repeat: the name \"i\" is a repeat's counter already; choose a new one");
  std::string nested = Op("relu", "\"$x\"", "r");
  for (const char* counter : {"a", "b", "c", "d", "e"}) {
    nested = "{\"repeat\": \"" + std::string(counter) + "\", \"count\": 1000000, \"steps\": [" +
             nested + "]}";
  }
  EXPECT_EQ(StepComplaint(nested), "") << "and do not take for ever";
}

TEST(KernelInstancesTest, ListsEveryInstanceOnce) {
  auto parsed = ParseCandidate(MakeSource(
      R"j("tune": {"B": [256, 128]}, "tuned": {"B": 128}, "steps": [
        {"kernel": "f<B>", "grid": [1], "block": [1], "args": []},
        {"kernel": "f<B>", "grid": [1], "block": [1], "args": []},
        {"kernel": "f<{x.size(1) / 2}, true, float>", "grid": [1], "block": [1], "args": []},
        {"kernel": "g", "grid": [1], "block": [1], "args": []},
        {"repeat": "i", "count": "n - 5", "steps": [
          {"kernel": "f<{i * 2}>", "grid": [1], "block": [1], "args": []}]}])j"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  auto instances = KernelInstances(*parsed, MakeProblem());
  ASSERT_TRUE(instances) << instances.error().message;
  EXPECT_EQ(*instances,
            (std::vector<std::string>{"f<128>", "f<128, true, float>", "g", "f<0>", "f<2>"}));
}

TEST(KernelInstancesTest, LeavesOutStepsThatAreNotRun) {
  auto parsed = ParseCandidate(MakeSource(
      R"j("tune": {"ALGO": [1, 0]}, "steps": [
        {"kernel": "f<{1 / (ALGO - 1)}>", "grid": [1], "block": [1], "args": [], "when": "ALGO == 0"},
        {"kernel": "g", "grid": [1], "block": [1], "args": [], "when": "device.sms > 100"},
        {"kernel": "f<2>", "grid": [1], "block": [1], "args": [], "when": "ALGO == 1"}])j"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*KernelInstances(*parsed, MakeProblem()), (std::vector<std::string>{"g", "f<2>"}));
}

TEST(KernelInstancesTest, RefusesNamesThatNeedARun) {
  auto parsed = ParseCandidate(MakeSource(
      R"j("steps": [{"op": "aten::relu", "args": ["$x"], "out": "h"},
        {"kernel": "f<{h.size(0)}>", "grid": [1], "block": [1], "args": ["$out0"]}])j"));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(ValidatePlan(*parsed, MakeProblem()));
  EXPECT_EQ(KernelInstances(*parsed, MakeProblem()).error().message,
            "steps[1].kernel: the kernel name \"f<{h.size(0)}>\": unknown tensor \"h\" in "
            "\"h.size(0)\"; template arguments use tune names, counters and sizes of inputs, "
            "parameters and buffers");
}

}  // namespace
}  // namespace cudaagent::candidate
