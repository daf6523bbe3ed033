#include "device/plan_runner.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/fake_device.h"

namespace cudaagent::device {
namespace {

using ::testing::HasSubstr;

class PlanRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    problem_.Input("x", at::arange(12, at::kFloat).reshape({3, 4}));
    problem_.Parameter("fc.weight", at::ones({2, 4}));
    problem_.Parameter("x", at::full({5}, 7.0F));  // hidden by the input
    problem_.Output(at::empty({3, 4}));
  }

  Checked<std::unique_ptr<PlanRunner>> Create(const std::string& plan,
                                              const std::string& code = "") {
    return PlanRunner::Create(Candidate(plan, code), problem_.info, ArtifactOf(device_),
                              problem_.bindings, device_);
  }

  // Creates and runs; the fault of either.
  Fault FaultOf(const std::string& plan, const std::string& code = "") {
    auto runner = Create(plan, code);
    if (!runner) return runner.error();
    auto ran = (*runner)->Run();
    if (!ran) return ran.error();
    ADD_FAILURE() << "the plan ran";
    return {};
  }

  // out[i] = in[i] * scale for n elements; counts its launches in device_.launches.
  void AddScaleKernel() {
    FakeKernel kernel;
    kernel.params = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
    kernel.run = [kernel](const Launch& launch) -> Checked<void> {
      const auto* in = Param<const float*>(launch, kernel, 0);
      auto* out = Param<float*>(launch, kernel, 1);
      const auto n = Param<int32_t>(launch, kernel, 2);
      const auto scale = Param<float>(launch, kernel, 3);
      for (int32_t i = 0; i < n; ++i) out[i] = in[i] * scale;
      return {};
    };
    device_.kernels["scale"] = kernel;
  }

  static constexpr const char* kScaleCode =
      "extern \"C\" __global__ void scale(const float* x, float* y, int n, float s) {}";

  FakeDevice device_;
  FakeProblem problem_;
};

TEST_F(PlanRunnerTest, RunsAnOpWhoseResultIsTheOutput) {
  auto runner = Create(R"({"plan": 1, "steps": [
      {"op": "aten::mul.Tensor", "args": ["$x", 2], "out": "out0"}]})");
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_TRUE((*runner)->outputs().empty());
  ASSERT_TRUE((*runner)->Run());
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), problem_.bindings.inputs["x"] * 2));
}

TEST_F(PlanRunnerTest, PacksArgumentsAsTheKernelLaysThemOut) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1, "tune": {"BLOCK": [256]}, "steps": [
      {"kernel": "scale", "grid": ["(x.numel + BLOCK - 1) / BLOCK"], "block": ["BLOCK"],
       "args": ["$x", "$out0", {"i32": "x.numel"}, {"f32": 0.5}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  auto ran = (*runner)->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), problem_.bindings.inputs["x"] * 0.5));
  EXPECT_EQ(device_.launches.at(0).grid.x, 1U);
  EXPECT_EQ(device_.launches.at(0).block.x, 256U);
  EXPECT_EQ((*runner)->kernel_names(), std::vector<std::string>{"scale"});
}

TEST_F(PlanRunnerTest, NamesAParameterThatAnInputHides) {
  auto runner = Create(R"({"plan": 1, "steps": [
      {"op": "aten::select.int", "args": ["$param:x", 0, 0], "out": "first"},
      {"op": "aten::add.Tensor", "args": ["$x", "$first"], "out": "out0"}]})");
  ASSERT_TRUE(runner) << runner.error().message;
  auto ran = (*runner)->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), problem_.bindings.inputs["x"] + 7));
}

TEST_F(PlanRunnerTest, PoisonsOutputsAndBuffersWithNaN) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1, "buffers": {"b": {"dtype": "float32", "shape": ["x.numel"]}},
      "steps": [
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$b", "$out0", {"i32": 4}, {"f32": 1}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  ASSERT_TRUE((*runner)->Run());
  // Four elements came from the poisoned buffer, the others from the poisoned output.
  EXPECT_TRUE(at::isnan((*runner)->outputs().at(0)).all().item<bool>());
  const at::Tensor out = (*runner)->outputs().at(0);
  out.fill_(1);
  (*runner)->Poison();
  EXPECT_TRUE(at::isnan(out).all().item<bool>());
}

TEST_F(PlanRunnerTest, ZeroesBuffersAtEachRun) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1,
      "buffers": {"b": {"dtype": "float32", "shape": [12], "zero": true}}, "steps": [
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$b", "$out0", {"i32": 12}, {"f32": 1}]},
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$x", "$b", {"i32": 12}, {"f32": 1}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  for (int i = 0; i < 2; ++i) {
    (*runner)->Poison();
    ASSERT_TRUE((*runner)->Run());
    EXPECT_TRUE(at::equal((*runner)->outputs().at(0), at::zeros({3, 4})));
  }
}

TEST_F(PlanRunnerTest, RepeatsStepsWithNamesAndConditions) {
  problem_.Parameter("layers.0.weight", at::full({1}, 1.0F));
  problem_.Parameter("layers.1.weight", at::full({1}, 10.0F));
  problem_.Parameter("layers.2.weight", at::full({1}, 100.0F));
  auto runner = Create(R"({"plan": 1, "steps": [
      {"op": "aten::clone", "args": ["$x"], "out": "h"},
      {"repeat": "i", "count": 3, "steps": [
        {"op": "aten::add.Tensor", "args": ["$h", "$layers.{i}.weight"], "out": "h",
         "when": "i != 1"}]},
      {"op": "aten::clone", "args": ["$h"], "out": "out0"}]})");
  ASSERT_TRUE(runner) << runner.error().message;
  auto ran = (*runner)->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), problem_.bindings.inputs["x"] + 101));
}

TEST_F(PlanRunnerTest, TellsTheDeviceWhatKernelsMayTouch) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1, "buffers": {"b": {"dtype": "float32", "shape": [12]}},
      "steps": [
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$x", "$b", {"i32": 12}, {"f32": 1}]},
      {"op": "aten::mul.Tensor", "args": ["$b", 3], "out": "h"},
      {"op": "aten::view", "args": ["$x", [12]], "out": "flat"},
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$h", "$out0", {"i32": 12}, {"f32": 1}]},
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$flat", "$h", {"i32": 12}, {"f32": 1}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  std::vector<bool> buffer_initialised;
  device_.kernels["scale"].run = [&](const Launch&) -> Checked<void> {
    buffer_initialised.push_back(device_.Region("b")->initialised);
    return {};
  };
  ASSERT_TRUE((*runner)->Run());
  EXPECT_EQ(buffer_initialised, (std::vector<bool>{false, true, true}));
  ASSERT_NE(device_.Region("x"), nullptr);
  EXPECT_FALSE(device_.Region("x")->writable);
  EXPECT_TRUE(device_.Region("x")->initialised);
  EXPECT_EQ(device_.Region("x")->bytes, 48U);
  EXPECT_EQ(device_.Region("flat"), nullptr) << "a view of x is x";
  EXPECT_TRUE(device_.Region("h")->writable);
  EXPECT_TRUE(device_.Region("h")->initialised);
  EXPECT_TRUE(device_.Region("out0")->writable);
  EXPECT_NE(device_.Region("param:x"), nullptr);
}

TEST_F(PlanRunnerTest, FindsAWriteOneElementPastTheOutput) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1, "steps": [
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$x", "$out0", {"i32": 12}, {"f32": 1}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  ASSERT_TRUE((*runner)->Run());
  ASSERT_TRUE((*runner)->CheckGuards());
  (*runner)->outputs().at(0).mutable_data_ptr<float>()[12] = 0;
  auto guards = (*runner)->CheckGuards();
  ASSERT_FALSE(guards);
  EXPECT_EQ(guards.error().verdict, Verdict::kOutOfBounds);
  EXPECT_EQ(guards.error().message,
            "A kernel wrote 4 bytes past the end of out0, right beside it.");
  EXPECT_TRUE((*runner)->CheckGuards()) << "zones are restored";
}

TEST_F(PlanRunnerTest, PreparesValuesOnceThatStepsRead) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1,
      "prepared": {"w2": {"dtype": "float32", "shape": [8]}, "wt": {"dtype": "float32", "shape": [4, 2]}},
      "prepare": [
        {"kernel": "scale", "grid": [1], "block": [32],
         "args": ["$fc.weight", "$w2", {"i32": 8}, {"f32": 3}]},
        {"op": "aten::view", "args": ["$w2", [2, 4]], "out": "v"},
        {"op": "aten::t", "args": ["$v"], "out": "wt"}],
      "steps": [{"op": "aten::select.int", "args": ["$wt", 1, 0], "out": "row"},
                {"op": "aten::mul.Tensor", "args": ["$x", "$row"], "out": "out0"}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ(device_.launches.size(), 1U) << "prepared before the first run";
  for (int i = 0; i < 3; ++i) {
    (*runner)->Poison();
    auto ran = (*runner)->Run();
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(at::equal((*runner)->outputs().at(0), problem_.bindings.inputs["x"] * 3));
    ASSERT_TRUE((*runner)->CheckGuards());
  }
  EXPECT_EQ(device_.launches.size(), 1U) << "and not again";
  ASSERT_TRUE((*runner)->prepared());
  EXPECT_EQ((*runner)->prepared()->bytes, 64);
  EXPECT_GE((*runner)->prepared()->milliseconds, 0);

  // A reload prepares anew, over the parameters as they are by then.
  problem_.bindings.parameters["fc.weight"].fill_(10);
  ASSERT_TRUE((*runner)->Reload());
  ASSERT_TRUE((*runner)->Run());
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), problem_.bindings.inputs["x"] * 30));
  EXPECT_EQ(device_.launches.size(), 2U);
}

TEST_F(PlanRunnerTest, KernelsOfPrepareMayWritePreparedValuesAlone) {
  AddScaleKernel();
  FakeKernel kernel = device_.kernels["scale"];
  std::map<std::string, bool> writable;
  kernel.run = [&, run = kernel.run](const Launch& launch) {
    for (const char* name : {"fc.weight", "w2"}) writable[name] = device_.Region(name)->writable;
    return run(launch);
  };
  device_.kernels["scale"] = kernel;
  const std::string prepared =
      R"({"plan": 1, "prepared": {"w2": {"dtype": "float32", "shape": [8]}},
      "prepare": [{"kernel": "scale", "grid": [1], "block": [32],
                   "args": ["$fc.weight", "$w2", {"i32": 8}, {"f32": 3}]}], "steps": [)";
  auto runner =
      Create(prepared + R"({"op": "aten::clone", "args": ["$x"], "out": "out0"}]})", kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ(writable, (std::map<std::string, bool>{{"fc.weight", false}, {"w2", true}}));

  // A step that writes one through a kernel is found out.
  runner = Create(prepared + R"({"op": "aten::clone", "args": ["$x"], "out": "out0"},
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$x", "$w2", {"i32": 8}, {"f32": 5}]}]})",
                  kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  ASSERT_TRUE((*runner)->Run());
  EXPECT_FALSE(writable["w2"]);
  auto checked = (*runner)->CheckGuards();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().verdict, Verdict::kInputMutated);
  EXPECT_THAT(checked.error().message, HasSubstr("prepared value w2"));
}

TEST_F(PlanRunnerTest, RefusesPreparedValuesOfAnotherShape) {
  const auto fault = FaultOf(R"({"plan": 1, "prepared": {"w2": {"dtype": "float32", "shape": [8]}},
      "prepare": [{"op": "aten::t", "args": ["$fc.weight"], "out": "w2"}],
      "steps": [{"op": "aten::clone", "args": ["$x"], "out": "out0"}]})");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_THAT(fault.message, HasSubstr("prepare[0]: the result is float32 [4, 2]"));
  EXPECT_THAT(FaultOf(R"({"plan": 1, "prepared": {"w2": {"dtype": "float32", "shape": [2, 4]}},
      "prepare": [{"op": "aten::clone", "args": ["$fc.weight"], "out": "w2"}],
      "steps": [{"op": "aten::relu_", "args": ["$w2"]},
                {"op": "aten::clone", "args": ["$x"], "out": "out0"}]})")
                  .message,
              HasSubstr("w2"));
}

TEST_F(PlanRunnerTest, PassesPointersAsAStructAndRealExpressions) {
  FakeKernel kernel;
  kernel.params = {{0, 24}, {24, 4}, {28, 2}};
  kernel.run = [kernel](const Launch& launch) -> Checked<void> {
    struct Three {
      const float* x;
      const float* last;
      float* out;
    };
    const auto tensors = Param<Three>(launch, kernel, 0);
    for (int i = 0; i < 12; ++i) tensors.out[i] = tensors.x[i] + tensors.last[0];
    tensors.out[0] = Param<float>(launch, kernel, 1);
    return {};
  };
  device_.kernels["sum"] = kernel;
  auto runner = Create(R"({"plan": 1, "steps": [{"kernel": "sum", "grid": 1, "block": 32, "args": [
      {"ptrs": ["$x", {"ptr": "$x", "offset": "x.numel - 1"}, "$out0"]},
      {"f32": {"fexpr": "1 / sqrt(x.size(1)) + 0.25"}}, {"f16": {"fexpr": "1 / 3"}}]}]})",
                       "struct S { const float* a; const float* b; float* c; };\n"
                       "__global__ void sum(S s, float f, __half h) {}");
  ASSERT_TRUE(runner) << runner.error().message;
  auto ran = (*runner)->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  at::Tensor expected = problem_.bindings.inputs["x"] + 11;
  expected[0][0] = 0.75;
  EXPECT_TRUE(at::equal((*runner)->outputs().at(0), expected));

  EXPECT_THAT(FaultOf(R"({"plan": 1, "steps": [{"kernel": "sum", "grid": 1, "block": 32,
      "args": [{"ptrs": ["$x", "$out0"]}, {"f32": 1}, {"f16": 1}]}]})",
                      "__global__ void sum() {}")
                  .message,
              HasSubstr("steps[0].args[0]: 2 pointers have 16 bytes, but this parameter of kernel "
                        "\"sum\" has 24"));
}

TEST_F(PlanRunnerTest, SizesAGridAndABufferByWhatTheDeviceHolds) {
  AddScaleKernel();
  device_.kernels["scale"].resources.static_shared_bytes = 48 << 10;
  auto runner = Create(R"json({"plan": 1,
      "buffers": {"part": {"dtype": "float32", "shape": ["max_blocks('scale', 256, 1024)"]}},
      "steps": [{"kernel": "scale", "grid": ["max_blocks('scale', 256, 0)"], "block": [256],
                 "args": ["$x", "$out0", {"i32": "part.size(0)"}, {"f32": 1}]}]})json",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  // The kernel of this device writes what it is told; 12 elements are all it may touch here.
  device_.kernels["scale"].run = nullptr;
  ASSERT_TRUE((*runner)->Run());
  EXPECT_EQ(device_.launches.at(0).grid.x, 132U * 4);  // 228 KiB hold four of 49
  EXPECT_EQ(Param<int32_t>(device_.launches.at(0), device_.kernels["scale"], 2), 132 * 4);
  EXPECT_THAT(
      FaultOf(
          R"json({"plan": 1, "steps": [{"kernel": "scale", "grid": ["max_blocks('scale', 2048, 0)"],
      "block": [256], "args": ["$x", "$out0", {"i32": 1}, {"f32": 1}]}]})json",
          kScaleCode)
          .message,
      HasSubstr("max_blocks(\"scale\", 2048, 0): a block has 1 to 1024 threads."));
}

TEST_F(PlanRunnerTest, ReloadsTheModule) {
  AddScaleKernel();
  auto runner = Create(R"({"plan": 1, "steps": [
      {"kernel": "scale", "grid": [1], "block": [32],
       "args": ["$x", "$out0", {"i32": 12}, {"f32": 1}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner) << runner.error().message;
  ASSERT_TRUE((*runner)->Reload());
  EXPECT_EQ(device_.loads, 2);
  EXPECT_EQ(device_.unloads, 1);
  ASSERT_TRUE((*runner)->Run());
}

TEST_F(PlanRunnerTest, DoesNotCaptureOnTheCpu) {
  auto runner = Create(R"({"plan": 1, "steps": [
      {"op": "aten::relu", "args": ["$x"], "out": "out0"}]})");
  ASSERT_TRUE(runner) << runner.error().message;
  std::string note;
  auto captured = (*runner)->Capture(&note);
  ASSERT_TRUE(captured);
  EXPECT_FALSE(*captured);
  EXPECT_EQ(note, "the CPU device has no graphs: the plan runs step by step");
  EXPECT_EQ((*runner)->Replay().error().verdict, Verdict::kInfraError);
}

TEST_F(PlanRunnerTest, RefusesAnOutputOfAnotherShape) {
  const Fault fault = FaultOf(R"({"plan": 1, "steps": [
      {"op": "aten::sum.dim_IntList", "args": ["$x", [1]], "out": "out0"}]})");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message,
            "steps[0]: the result is float32 [3] with strides [1], but out0 is float32 [3, 4] with "
            "strides [4, 1].");
}

TEST_F(PlanRunnerTest, RefusesAnOutputThatSharesMemoryWithAnInput) {
  const Fault fault = FaultOf(R"({"plan": 1, "steps": [
      {"op": "aten::alias", "args": ["$x"], "out": "out0"}]})");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message,
            "steps[0]: the result shares memory with $x; out0 must have its own "
            "(aten::clone makes a copy).");
}

TEST_F(PlanRunnerTest, RefusesWhatNoStepWrites) {
  const Fault fault = FaultOf(R"({"plan": 1, "steps": [
      {"op": "aten::relu", "args": ["$x"], "out": "out0", "when": "x.size(0) > 3"}]})");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message, "No step that ran writes out0.");
}

TEST_F(PlanRunnerTest, RefusesUnknownNames) {
  const Fault fault = FaultOf(R"({"plan": 1, "steps": [
      {"op": "aten::relu", "args": ["$y"], "out": "out0"}]})");
  EXPECT_EQ(fault.message, "steps[0].args[0]: nothing is called \"$y\" here.");
}

class LaunchTest : public PlanRunnerTest {
 protected:
  Fault Launch(const std::string& fields) {
    AddScaleKernel();
    return FaultOf(R"({"plan": 1, "steps": [{"kernel": "scale", )" + fields + "}]}", kScaleCode);
  }
  static constexpr const char* kArgs = R"("args": ["$x", "$out0", {"i32": 12}, {"f32": 1}])";
};

TEST_F(LaunchTest, RefusesAGridOfZero) {
  const Fault fault = Launch(R"("grid": ["x.numel / 256"], "block": [256], )" + std::string(kArgs));
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message,
            "steps[0].grid[0]: \"x.numel / 256\", which is 0; it must be at least 1.");
}

TEST_F(LaunchTest, RejectsWhatTheDeviceCannotHold) {
  Fault fault = Launch(R"("grid": [1, 65536], "block": [256], )" + std::string(kArgs));
  EXPECT_EQ(fault.verdict, Verdict::kLaunchRejected);
  EXPECT_EQ(fault.message, "steps[0].grid[1]: 65536; the device allows 65535.");
  fault = Launch(R"("grid": [1], "block": [64, 32], )" + std::string(kArgs));
  EXPECT_EQ(fault.verdict, Verdict::kLaunchRejected);
  EXPECT_EQ(fault.message, "steps[0].block: 2048 threads; the device allows 1024 per block.");
  fault = Launch(R"("grid": [1], "block": [64], "shared_bytes": 300000, )" + std::string(kArgs));
  EXPECT_EQ(fault.verdict, Verdict::kLaunchRejected);
  EXPECT_EQ(fault.message,
            "steps[0].shared_bytes: 300000 bytes; the device allows 232448 per block.");
}

TEST_F(LaunchTest, RefusesAnotherNumberOfArguments) {
  const Fault fault = Launch(R"("grid": [1], "block": [64], "args": ["$x", "$out0", {"i32": 12}])");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message, "steps[0].args: kernel \"scale\" takes 4 arguments, the plan gives 3.");
}

TEST_F(LaunchTest, RefusesAnArgumentOfAnotherSize) {
  const Fault fault =
      Launch(R"("grid": [1], "block": [64], "args": ["$x", "$out0", {"i64": 12}, {"f32": 1}])");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message,
            "steps[0].args[2]: an i64 has 8 bytes, but this parameter of kernel \"scale\" has 4.");
}

TEST_F(LaunchTest, RefusesAnIntegerThatDoesNotFit) {
  const Fault fault = Launch(
      R"("grid": [1], "block": [64],
         "args": ["$x", "$out0", {"i32": "x.numel * 1000000000"}, {"f32": 1}])");
  EXPECT_EQ(fault.message, "steps[0].args[2]: 12000000000 does not fit an i32.");
}

TEST_F(LaunchTest, RefusesAPointerBeyondTheTensor) {
  const Fault fault = Launch(
      R"("grid": [1], "block": [64],
         "args": [{"ptr": "$x", "offset": 12}, "$out0", {"i32": 12}, {"f32": 1}])");
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_EQ(fault.message, "steps[0].args[0].offset: 12; \"$x\" has 12 elements.");
}

TEST_F(LaunchTest, WantsStridedTensorsNamedAsSuch) {
  problem_.bindings.inputs["x"] = at::arange(12, at::kFloat).reshape({4, 3}).t();
  Fault fault = Launch(R"("grid": [1], "block": [64], )" + std::string(kArgs));
  EXPECT_EQ(fault.verdict, Verdict::kBadCandidate);
  EXPECT_THAT(fault.message, HasSubstr("steps[0].args[0]: \"$x\" is not contiguous"));
  problem_.bindings.inputs["x"] = at::arange(13, at::kFloat).slice(0, 1).view({3, 4});
  fault = Launch(R"("grid": [1], "block": [64], )" + std::string(kArgs));
  EXPECT_THAT(fault.message, HasSubstr("is not 16-byte aligned"));
  auto runner = Create(R"({"plan": 1, "steps": [{"kernel": "scale", "grid": [1], "block": [64],
      "args": [{"ptr": "$x", "strided": true}, "$out0", {"i32": 12}, {"f32": 1}]}]})",
                       kScaleCode);
  ASSERT_TRUE(runner);
  EXPECT_TRUE((*runner)->Run());
}

TEST_F(LaunchTest, RoundsHalfAndBrainFloatArguments) {
  FakeKernel kernel;
  kernel.params = {{0, 8}, {8, 2}, {10, 2}, {12, 1}};
  uint16_t half = 0, brain = 0;
  uint8_t flag = 0;
  kernel.run = [&, kernel](const cudaagent::device::Launch& launch) -> Checked<void> {
    half = Param<uint16_t>(launch, kernel, 1);
    brain = Param<uint16_t>(launch, kernel, 2);
    flag = Param<uint8_t>(launch, kernel, 3);
    return {};
  };
  device_.kernels["k"] = kernel;
  auto runner = Create(
      R"({"plan": 1, "steps": [{"kernel": "k", "grid": [1], "block": [1],
          "args": ["$out0", {"f16": 1.0}, {"bf16": 1.0}, {"bool": true}]}]})",
      "extern \"C\" __global__ void k(float* y, __half a, __nv_bfloat16 b, bool c) {}");
  ASSERT_TRUE(runner) << runner.error().message;
  auto ran = (*runner)->Run();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(half, 0x3C00);
  EXPECT_EQ(brain, 0x3F80);
  EXPECT_EQ(flag, 1);
}

}  // namespace
}  // namespace cudaagent::device
