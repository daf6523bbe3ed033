// The exact sentences a user reads when model.py is at fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/python/models.h"

namespace cudaagent::reference {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

const std::string kEnd =
    "def get_inputs():\n    return [torch.rand(2, 4)]\ndef get_init_inputs():\n    return []\n";
const std::string kModel =
    "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n"
    "    def forward(self, x):\n        return x + 1\n";

TEST(ModelErrorTest, NamesFileAndLineOfAnErrorAtTopLevel) {
  EXPECT_EQ(LoadError("import torch\n\ny = x\n"),
            "usage: model.py:3: NameError: name 'x' is not defined");
}

TEST(ModelErrorTest, NamesFileAndLineOfASyntaxError) {
  EXPECT_EQ(LoadError("import torch\nclass Model(:\n"),
            "usage: model.py:2: SyntaxError: invalid syntax");
}

TEST(ModelErrorTest, NamesTheInnermostLineOfTheUsersCode) {
  EXPECT_EQ(LoadError(WithForward("return torch.mm(x, x)")),
            "usage: model.py:9: RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x4 and "
            "2x4)");
}

TEST(ModelErrorTest, NamesTheLineOfTheConstructor) {
  EXPECT_EQ(LoadError(WithForward("return x", "raise ValueError('no such size')")),
            "usage: model.py:7: ValueError: no such size");
}

TEST(ModelErrorTest, SurvivesEveryWayToExit) {
  EXPECT_EQ(LoadError("import sys\nsys.exit(3)\n"), "usage: model.py:2: sys.exit(3) was called");
  EXPECT_EQ(LoadError("import os\nos._exit(3)\n"), "usage: model.py:2: os._exit(3) was called");
  EXPECT_EQ(LoadError("raise KeyboardInterrupt\n"), "usage: model.py:1: KeyboardInterrupt");
  EXPECT_THAT(LoadError("def f(): f()\nf()\n"),
              StartsWith("usage: model.py:1: RecursionError: maximum recursion depth exceeded"));
  EXPECT_EQ(LoadError(WithForward("raise SystemExit('enough')")),
            "usage: model.py:9: sys.exit(enough) was called");
}

TEST(ModelErrorTest, SurvivesTextThatIsNotPython) {
  EXPECT_THAT(LoadError(std::string("x = 1\0y", 7)), StartsWith("usage: model.py"));
  EXPECT_THAT(LoadError("x = '\xff\xfe'\n"), StartsWith("usage: model.py"));
  EXPECT_THAT(LoadError(std::string(100000, '(')), StartsWith("usage: model.py"));
}

TEST(ModelErrorTest, KnowsTheDtypes) {
  ProblemSpec spec = SpecOf(kModel + kEnd);
  spec.dtype = "float8";
  EXPECT_EQ(LoadError(spec), "usage: --dtype float8 is not one of float32, float16, bfloat16.");
}

TEST(ModelErrorTest, SaysWhatTheContractIs) {
  EXPECT_EQ(LoadError(kModel),
            "usage: model.py has no function get_inputs(). The problem's contract is a class "
            "Model(nn.Module), get_inputs() and get_init_inputs(), both returning lists.");
  EXPECT_EQ(LoadError(kModel + "def get_inputs(): return torch.rand(2)\n"
                               "def get_init_inputs(): return []\n"),
            "usage: model.py: get_inputs() must return a list, and returned a Tensor.");
  EXPECT_EQ(LoadError(kModel + "get_inputs = 3\ndef get_init_inputs(): return []\n"),
            "usage: model.py: get_inputs is not a function.");
}

TEST(ModelErrorTest, SaysHowToGetAMissingModule) {
  EXPECT_THAT(
      LoadError("from no_such_package.part import thing\n"),
      MatchesRegex("usage: model.py:1: ModuleNotFoundError: No module named "
                   "'no_such_package'. Install it for the worker's Python: .* -m pip install "
                   "no_such_package"));
}

TEST(ModelErrorTest, NamesTheNearestClass) {
  ProblemSpec spec = SpecOf(kModel + kEnd);
  spec.class_name = "Modle";
  EXPECT_EQ(LoadError(spec),
            "usage: model.py has no class 'Modle'. Did you mean 'Model'? Its classes are Model.");
  spec.class_name = "nn";
  EXPECT_EQ(LoadError(spec), "usage: model.py: nn is not a subclass of torch.nn.Module.");
}

TEST(ModelErrorTest, NamesTheNearestInputsFunction) {
  ProblemSpec spec = SpecOf(kModel + kEnd + "def long_inputs(): return [torch.rand(9)]\n");
  spec.inputs_fn = "long_input";
  EXPECT_EQ(
      LoadError(spec),
      "usage: model.py has no function long_input(). Did you mean 'long_inputs'? Its functions "
      "are get_inputs, get_init_inputs, long_inputs.");
}

TEST(ModelErrorTest, SaysWhatToDoAboutAHardCodedGpu) {
  for (const char* body :
       {"return x.cuda()", "return x.to('cuda')", "return x + torch.ones(4, device='cuda')"}) {
    EXPECT_THAT(
        LoadError(WithForward(body)),
        MatchesRegex("usage: model.py:[0-9]+: this line asks for a CUDA device, and there is none "
                     "here: the problem runs on the CPU device. Leave the device out .*"))
        << body;
  }
}

TEST(ModelErrorTest, NamesTheNearestConstant) {
  std::string source = "batch_size, dim = 4, 8\n" + kModel + kEnd;
  EXPECT_EQ(LoadError(source, {{"batchsize", "2"}}),
            "usage: --const batchsize: model.py has no constant 'batchsize'. Did you mean "
            "'batch_size'? Its constants are batch_size, dim.");
  EXPECT_EQ(
      LoadError(source, {{"dim", "eight"}}),
      "usage: --const dim=eight: the value is not a Python literal. Write a number, True, None, "
      "a tuple, or a string in quotes.");
  EXPECT_EQ(LoadError(kModel + kEnd, {{"dim", "8"}}),
            "usage: --const dim: model.py assigns no constants at its top level.");
}

TEST(ModelErrorTest, SaysWhichArgumentsForwardWants) {
  EXPECT_EQ(LoadError("import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n"
                      "    def forward(self, x, y):\n        return x + y\n" +
                      kEnd),
            "usage: model.py: get_inputs() returns 1 value, but Model.forward(x, y) does not take "
            "them: missing a required argument: 'y'.");
}

TEST(ModelErrorTest, RefusesOutputsItCannotCompare) {
  EXPECT_EQ(
      LoadError(WithForward("return {'y': [x, 'text']}")),
      "usage: model.py: Model.forward returns a value of type str among its outputs, which is "
      "not supported yet. Return tensors, or tuples and dicts of tensors.");
  EXPECT_EQ(
      LoadError(WithForward("return x, 3")),
      "usage: model.py: Model.forward returns a value of type int among its outputs, which is not "
      "supported yet. Return tensors, or tuples and dicts of tensors.");
  EXPECT_EQ(LoadError(WithForward("return None")),
            "usage: model.py: Model.forward returns a value of type NoneType, which is not "
            "supported yet. Return tensors, or tuples and dicts of tensors.");
}

TEST(ModelErrorTest, RefusesInputsItCannotPass) {
  EXPECT_EQ(LoadError(kModel + "def get_inputs(): return [[torch.rand(2)]]\n"
                               "def get_init_inputs(): return []\n"),
            "usage: model.py: get_inputs()[0] is a list; only tensors, numbers, booleans, None and "
            "strings are supported yet.");
  EXPECT_EQ(LoadError(kModel + "def get_inputs(): return [2**63]\n"
                               "def get_init_inputs(): return []\n"),
            "usage: model.py: get_inputs()[0] = 9223372036854775808 does not fit in 64 bits.");
}

TEST(ModelErrorTest, SaysHowLargeAProblemIsThatDoesNotFit) {
  EXPECT_THAT(LoadError(WithForward("return x"), {{"N", "2**45"}}),
              StartsWith("usage: --const N=2**45: the value is not a Python literal."));
  EXPECT_THAT(LoadError(WithForward("return x"), {{"N", "35184372088832"}}),
              MatchesRegex("environment: model.py does not fit in memory on cpu: it needs 524288.0 "
                           "GiB of inputs, and [0-9.]+ GiB are free. Make the problem smaller with "
                           "--const."));
  // Known only from the exported graph.
  EXPECT_THAT(LoadError(WithForward("return x[:, :, None] + x.new_zeros(1, 1, 2**43)")),
              StartsWith("environment: model.py does not fit in memory on cpu: "));
}

}  // namespace
}  // namespace cudaagent::reference
