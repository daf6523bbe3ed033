#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "reference/precision.h"
#include "reference/python/models.h"

namespace cudaagent::reference {
namespace {

using ::testing::ElementsAre;

std::vector<at::Tensor> ForwardOf(Reference& reference, uint64_t seed,
                                  Precision precision = Precision::kFp32) {
  auto inputs = reference.MakeInputs(seed);
  EXPECT_TRUE(inputs) << inputs.error().message;
  auto outputs = reference.Forward(*inputs, precision);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs.value_or(std::vector<at::Tensor>{});
}

TEST(StartPythonTest, ImportsTheTorchItWasBuiltFor) {
  ASSERT_TRUE(StartPython());
  ASSERT_TRUE(WarmUp());
  EXPECT_EQ(TorchVersion(), CUDAAGENT_TORCH_VERSION);
}

TEST(LoadReferenceTest, DescribesABenchmarkProblemAtOverriddenSizes) {
  ProblemSpec spec;
  spec.path = CUDAAGENT_SOURCE_DIR "/benchmarks/problems/softmax.py";
  std::ifstream file(spec.path);
  spec.source.assign(std::istreambuf_iterator<char>(file), {});
  spec.consts = {{"batch_size", "64"}, {"dim", " 1024 "}};
  auto reference = Load(spec);
  ASSERT_TRUE(reference);
  const ProblemInfo& info = reference->info();
  EXPECT_EQ(info.hash.size(), 64u);
  ASSERT_EQ(info.inputs.size(), 1u);
  EXPECT_EQ(info.inputs[0].name, "x");
  EXPECT_THAT(info.inputs[0].shape, ElementsAre(64, 1024));
  EXPECT_THAT(info.inputs[0].strides, ElementsAre(1024, 1));
  EXPECT_EQ(info.inputs[0].dtype, "float32");
  EXPECT_EQ(info.inputs[0].bytes, 64 * 1024 * 4);
  ASSERT_EQ(info.outputs.size(), 1u);
  EXPECT_EQ(info.outputs[0].name, "out0");
  EXPECT_TRUE(info.outputs[0].contiguous);
  EXPECT_TRUE(info.parameters.empty());
  EXPECT_EQ(info.export_error, "");

  std::vector<at::Tensor> outputs = ForwardOf(*reference, 7);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_TRUE(outputs[0].sum(1).allclose(at::ones({64})));
}

TEST(LoadReferenceTest, RecomputesWhatDependsOnAnOverriddenConstant) {
  const std::string source =
      "import torch\nfrom torch import nn\nN = 2\nN *= 2\nM: int = N * 3\na, (b, *c) = 1, (2, 3)\n"
      "class Model(nn.Module):\n    def __init__(self, m):\n        super().__init__()\n"
      "        self.m = m\n    def forward(self, x):\n        return x + self.m + b\n"
      "def get_inputs():\n    return [torch.zeros(N)]\ndef get_init_inputs():\n    return [M]\n";
  auto plain = Load(source);
  ASSERT_TRUE(plain);
  EXPECT_TRUE(ForwardOf(*plain, 0)[0].equal(at::full({4}, 14.0f)));
  auto overridden = Load(source, {{"N", "5"}, {"b", "-1.5"}});
  ASSERT_TRUE(overridden);
  EXPECT_TRUE(ForwardOf(*overridden, 0)[0].equal(at::full({5}, 13.5f)));
  EXPECT_NE(plain->info().hash, overridden->info().hash);
  auto derived = Load(source, {{"M", "0"}});
  ASSERT_TRUE(derived);
  EXPECT_TRUE(ForwardOf(*derived, 0)[0].equal(at::full({4}, 2.0f)));
}

TEST(LoadReferenceTest, CastsFloatingTensorsAlone) {
  ProblemSpec spec = SpecOf(
      "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n"
      "    def __init__(self):\n        super().__init__()\n        self.bn = nn.BatchNorm1d(4)\n"
      "        self.plain = torch.rand(4)\n"
      "    def forward(self, x, index):\n        return (self.bn(x) + self.plain)[index]\n"
      "def get_inputs():\n    return [torch.rand(3, 4), torch.randint(3, (5,))]\n"
      "def get_init_inputs():\n    return []\n");
  spec.dtype = "bfloat16";
  auto reference = Load(spec);
  ASSERT_TRUE(reference);
  const ProblemInfo& info = reference->info();
  EXPECT_EQ(info.inputs[0].dtype, "bfloat16");
  EXPECT_EQ(info.inputs[1].dtype, "int64");
  EXPECT_EQ(info.outputs[0].dtype, "bfloat16");
  std::map<std::string, std::string> dtypes;
  for (const TensorInfo& parameter : info.parameters) dtypes[parameter.name] = parameter.dtype;
  EXPECT_THAT(
      dtypes,
      ElementsAre(std::pair("bn.bias", "bfloat16"), std::pair("bn.num_batches_tracked", "int64"),
                  std::pair("bn.running_mean", "bfloat16"), std::pair("bn.running_var", "bfloat16"),
                  std::pair("bn.weight", "bfloat16")));
  EXPECT_EQ(reference->parameters().at("bn.weight").dtype(), at::kBFloat16);
}

TEST(LoadReferenceTest, PassesScalarsAndLeavesOutOptionalArguments) {
  auto reference = Load(
      "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n"
      "    def forward(self, x, scale: float, n, flag, nothing, mode, *more, mask=None):\n"
      "        assert flag is True and nothing is None and mode == 'a\"b' and type(n) is int\n"
      "        return x * scale + n + more[0], x - more[1]\n"
      "def get_inputs():\n    return [torch.ones(3), 0.5, 2, True, None, 'a\"b', torch.ones(3), "
      "4]\n"
      "def get_init_inputs():\n    return []\n");
  ASSERT_TRUE(reference);
  const ProblemInfo& info = reference->info();
  ASSERT_EQ(info.inputs.size(), 2u);
  EXPECT_EQ(info.inputs[1].name, "more_0");
  std::vector<std::pair<std::string, std::string>> scalars;
  for (const ScalarInput& scalar : info.scalars) scalars.emplace_back(scalar.name, scalar.value);
  EXPECT_THAT(scalars, ElementsAre(std::pair("scale", "0.5"), std::pair("n", "2"),
                                   std::pair("flag", "true"), std::pair("nothing", "null"),
                                   std::pair("mode", "\"a\\\"b\""), std::pair("more_1", "4")));
  auto inputs = reference->MakeInputs(1);
  ASSERT_TRUE(inputs);
  ASSERT_EQ(inputs->size(), 8u);
  EXPECT_TRUE((*inputs)[3].isBool());
  EXPECT_TRUE((*inputs)[2].isInt());
  std::vector<at::Tensor> outputs = ForwardOf(*reference, 1);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_TRUE(outputs[0].equal(at::full({3}, 3.5f)));
  EXPECT_TRUE(outputs[1].equal(at::full({3}, -3.0f)));
}

TEST(LoadReferenceTest, MakesEqualInputsFromEqualSeedsOnly) {
  auto reference = Load(WithForward("return x"));
  ASSERT_TRUE(reference);
  at::Tensor first = ForwardOf(*reference, 3)[0];
  EXPECT_TRUE(first.equal(ForwardOf(*reference, 3)[0]));
  EXPECT_FALSE(first.equal(ForwardOf(*reference, 4)[0]));
  EXPECT_TRUE(reference->MakeInputs(UINT64_MAX));
}

TEST(LoadReferenceTest, RunsInEvalModeWithoutGradients) {
  auto reference = Load(WithForward("return self.drop(x) + self.w",
                                    "self.drop = nn.Dropout(0.9); self.w = nn.Parameter("
                                    "torch.zeros(4))"));
  ASSERT_TRUE(reference);
  auto inputs = reference->MakeInputs(0);
  ASSERT_TRUE(inputs);
  auto outputs = reference->Forward(*inputs, Precision::kFp32);
  ASSERT_TRUE(outputs);
  EXPECT_TRUE((*outputs)[0].equal((*inputs)[0].toTensor()));
  EXPECT_FALSE((*outputs)[0].requires_grad());
}

TEST(LoadReferenceTest, SharesParametersWithTheModel) {
  auto reference =
      Load(WithForward("return x * 0 + self.w", "self.w = nn.Parameter(torch.zeros(4))"));
  ASSERT_TRUE(reference);
  reference->parameters().at("w").fill_(3);
  EXPECT_TRUE(ForwardOf(*reference, 0)[0].equal(at::full({2, 4}, 3.0f)));
}

TEST(LoadReferenceTest, SetsPrecisionForTheCallAlone) {
  auto reference =
      Load(WithForward("return x * 0 + torch.backends.cuda.matmul.allow_tf32 + 2 * "
                       "torch.backends.cudnn.allow_tf32"));
  ASSERT_TRUE(reference);
  PrecisionScope outer(Precision::kTorchDefault);
  for (auto [precision, flags] :
       {std::pair(Precision::kFp32, 0), std::pair(Precision::kTf32, 3),
        std::pair(Precision::kTorchDefault, 2), std::pair(Precision::kFp32, 0)}) {
    EXPECT_EQ(ForwardOf(*reference, 0, precision)[0].max().item<float>(), flags);
  }
}

TEST(LoadReferenceTest, RunsTheCompiledForward) {
  auto reference =
      Load(WithForward("return torch.softmax(self.fc(x), 1)", "self.fc = nn.Linear(4, 8)"));
  ASSERT_TRUE(reference);
  auto inputs = reference->MakeInputs(0);
  ASSERT_TRUE(inputs);
  auto compiled = reference->ForwardCompiled("default", *inputs, Precision::kFp32);
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_TRUE((*compiled)[0].allclose(ForwardOf(*reference, 0)[0]));
}

TEST(LoadReferenceTest, SaysWhyAModelDoesNotCompile) {
  const std::string model =
      WithForward("return torch.log1p(self.fc(x)).cos()", "self.fc = nn.Linear(4, 8)");
  auto reference = Load(
      "import torch._inductor.config as config\n"
      "config.cpp.cxx = ('/nowhere/g++',)\n" +
      model);
  ASSERT_TRUE(reference);
  auto inputs = reference->MakeInputs(0);
  ASSERT_TRUE(inputs);
  auto compiled = reference->ForwardCompiled("default", *inputs, Precision::kFp32);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(compiled.error().message,
              ::testing::StartsWith("torch.compile failed on model.py: InductorError: "
                                    "InvalidCxxCompiler: No working C++ compiler found"));
  EXPECT_TRUE(reference->Forward(*inputs, Precision::kFp32));
  Load("import torch._inductor.config as config\nconfig.cpp.cxx = (None, 'g++')\n" + model);
}

TEST(LoadReferenceTest, ImportsFromTheModelsFolder) {
  ProblemSpec spec =
      SpecOf("from neighbour_of_model import helper\n" + WithForward("return helper(x)"));
  std::string folder = spec.path.substr(0, spec.path.rfind('/'));
  std::ofstream(folder + "/neighbour_of_model.py") << "def helper(x):\n    return x @ x\n";
  EXPECT_EQ(LoadError(spec),
            "usage: neighbour_of_model.py:2: RuntimeError: mat1 and mat2 shapes cannot be "
            "multiplied (2x4 and 2x4)");
}

TEST(LoadReferenceTest, KeepsWhatTheModelPrintsOffStandardOutput) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  auto reference = Load("print('hello from model.py')\n" + WithForward("return x"));
  std::string output = testing::internal::GetCapturedStdout();
  std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(reference);
  EXPECT_EQ(output, "");
  EXPECT_THAT(log, ::testing::HasSubstr("hello from model.py"));
}

TEST(LoadTest, TakesOutputsOutOfTuplesAndDictsInOrder) {
  auto reference = Load(WithForward("return {'b': x, 'a': (x * 2, [x[:, :1]])}"));
  ASSERT_TRUE(reference);
  ASSERT_EQ(reference->info().outputs.size(), 3u);
  EXPECT_EQ(reference->info().outputs[2].name, "out2");
  EXPECT_EQ(reference->info().outputs[2].shape, (std::vector<int64_t>{2, 1}));
  auto inputs = reference->MakeInputs(3);
  ASSERT_TRUE(inputs);
  auto outputs = reference->Forward(*inputs, Precision::kFp32);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_TRUE(at::equal(outputs->at(0), inputs->at(0).toTensor()));
  EXPECT_TRUE(at::equal(outputs->at(1), inputs->at(0).toTensor() * 2));
}

TEST(LoadTest, TakesArgumentsByName) {
  auto reference = Load(
      "import torch\nclass Model(torch.nn.Module):\n"
      "    def forward(self, x, *, scale, mask=None):\n        return x * scale\n"
      "def get_inputs(): return {'scale': torch.full((4,), 3.0), 'x': torch.rand(2, 4)}\n"
      "def get_init_inputs(): return []\n");
  ASSERT_TRUE(reference);
  ASSERT_EQ(reference->info().inputs.size(), 2u);
  EXPECT_EQ(reference->info().inputs[0].name, "x");
  EXPECT_EQ(reference->info().inputs[1].name, "scale");
  EXPECT_NE(reference->info().graph_json, "") << reference->info().export_error;
  auto inputs = reference->MakeInputs(3);
  ASSERT_TRUE(inputs);
  auto outputs = reference->Forward(*inputs, Precision::kFp32);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_TRUE(at::equal(outputs->at(0), inputs->at(0).toTensor() * 3));
}

TEST(LoadTest, TakesInputsFromTheFunctionNamed) {
  ProblemSpec spec =
      SpecOf(WithForward("return x + 1") + "def wide(): return [torch.rand(3, 9)]\n");
  auto usual = Load(spec);
  spec.inputs_fn = "wide";
  auto wide = Load(spec);
  ASSERT_TRUE(usual && wide);
  EXPECT_EQ(wide->info().outputs[0].shape, (std::vector<int64_t>{3, 9}));
  EXPECT_NE(wide->info().hash, usual->info().hash);
}

}  // namespace
}  // namespace cudaagent::reference
