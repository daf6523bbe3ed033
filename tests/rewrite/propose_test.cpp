#include "rewrite/propose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "candidate/plan.h"
#include "candidate/validate.h"
#include "golden.h"
#include "graph_maker.h"
#include "load_problem.h"
#include "rewrite/init.h"
#include "rewrite/regions.h"

namespace cudaagent::rewrite {
namespace {

using namespace cudaagent::test;
using testing::HasSubstr;
using testing::Not;

void ExpectEveryCombinationValid(candidate::ParsedCandidate candidate, const ProblemInfo& problem) {
  std::vector<std::map<std::string, int64_t>> combinations(1);
  for (const auto& [name, values] : candidate.plan.tune) {
    std::vector<std::map<std::string, int64_t>> longer;
    for (const auto& combination : combinations) {
      for (int64_t value : values) {
        longer.push_back(combination);
        longer.back()[name] = value;
      }
    }
    combinations = std::move(longer);
  }
  EXPECT_LE(combinations.size(), 12u) << candidate.code;
  for (const auto& combination : combinations) {
    candidate.plan.tuned = combination;
    auto valid = candidate::ValidatePlan(candidate, problem);
    EXPECT_TRUE(valid) << valid.error().message << candidate.code;
    auto instances = candidate::KernelInstances(candidate, problem);
    EXPECT_TRUE(instances) << instances.error().message << candidate.code;
  }
}

std::vector<RewriteOption> Options(const graph::Graph& graph, const ProblemInfo& problem) {
  auto options = Propose(graph, problem);
  EXPECT_TRUE(options) << options.error().message;
  std::set<std::string> texts;
  for (const RewriteOption& option : *options) {
    EXPECT_TRUE(texts.insert(option.candidate_text).second) << "proposed twice";
    auto candidate = candidate::ParseCandidate(option.candidate_text);
    EXPECT_TRUE(candidate) << candidate.error().message << option.candidate_text;
    if (!candidate) continue;
    ExpectEveryCombinationValid(*candidate, problem);
  }
  return *options;
}

std::string First(const GraphMaker& maker) {
  return Options(maker.graph, maker.problem).at(0).candidate_text;
}

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}
int Kernels(const std::string& text) { return Count(text, "\"kernel\":"); }
int Ops(const std::string& text) { return Count(text, "\"op\":"); }

// Every node is in one place only, after everything it reads.
void ExpectCovered(const NormalGraph& graph, const Partition& partition) {
  std::vector<int> seen(graph.nodes.size(), 0);
  std::set<std::string> known;
  for (const Unit& unit : partition.order) {
    std::set<size_t> nodes = {unit.node};
    if (unit.region >= 0) nodes = partition.regions.at(static_cast<size_t>(unit.region)).nodes;
    for (size_t n : nodes) {
      ++seen[n];
      for (const std::string& ref : graph::RefsOf(graph.nodes[n])) {
        bool inside = false;
        for (size_t other : nodes) {
          for (const TensorInfo& info : graph.nodes[other].outputs) inside |= info.name == ref;
        }
        EXPECT_TRUE(inside || known.count(ref) || !graph.results.count(ref)) << ref;
      }
    }
    for (size_t n : nodes) {
      for (const TensorInfo& info : graph.nodes[n].outputs) known.insert(info.name);
    }
  }
  for (size_t n = 0; n < seen.size(); ++n) EXPECT_EQ(seen[n], 1) << graph.nodes[n].name;
}

class ProposeGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(ProposeGoldenTest, WritesWhatTheGoldenFileSays) {
  const std::string name = GetParam();
  const LoadedProblem loaded = LoadProblem(TestFile("problems/" + name + ".json"));
  const auto options = Options(loaded.graph, loaded.problem);
  ASSERT_FALSE(options.empty());
  EXPECT_EQ(options[0].candidate_text, Golden(name + ".builtin.cu", options[0].candidate_text));
  auto again = Propose(loaded.graph, loaded.problem);
  ASSERT_EQ(again->size(), options.size());
  for (size_t k = 0; k < options.size(); ++k) {
    EXPECT_EQ((*again)[k].candidate_text, options[k].candidate_text);
  }
  auto normal = Normalize(loaded.graph, loaded.problem);
  ExpectCovered(*normal, FindRegions(*normal, GraphLinks(*normal)));
}

INSTANTIATE_TEST_SUITE_P(Problems, ProposeGoldenTest,
                         testing::Values("softmax", "rms_norm", "conv_bn_relu", "matmul_bias_act",
                                         "row_max_mean", "mlp"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ProposeTest, FusesAChainWithBroadcastIntoOneKernel) {
  GraphMaker maker;
  maker.Input("x", {64, 128})
      .Parameter("bias", {128})
      .Parameter("gain", {64, 1})
      .Node("add", "aten::add.Tensor", {Ref("x"), Ref("bias")}, {64, 128})
      .Node("gelu", "aten::gelu", {Ref("add")}, {64, 128})
      .Node("mul", "aten::mul.Tensor", {Ref("gelu"), Ref("gain")}, {64, 128})
      .Output("mul", {64, 128});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_EQ(Ops(text), 0);
  EXPECT_THAT(text, HasSubstr("bias + i % 128"));
  EXPECT_THAT(text, HasSubstr("gain[i / 128]"));
}

TEST(ProposeTest, LeavesTheGraphAloneWhereNoRuleApplies) {
  GraphMaker maker;
  maker.Input("x", {8, 8})
      .Parameter("w", {8, 8})
      .Node("mm", "aten::mm", {Ref("x"), Ref("w")}, {8, 8})
      .Output("mm", {8, 8});
  const auto options = Options(maker.graph, maker.problem);
  ASSERT_EQ(options.size(), 1u);
  EXPECT_EQ(options[0].candidate_text, *WriteInitCandidate(maker.graph, maker.problem));
  EXPECT_THAT(options[0].note, HasSubstr("No built-in rule applies"));
}

TEST(ProposeTest, MovesTheBiasOfAConvolutionIntoTheKernelBehindIt) {
  GraphMaker maker;
  maker.Input("x", {2, 3, 8, 8})
      .Parameter("w", {4, 3, 1, 1})
      .Parameter("b", {4})
      .Node("conv", "aten::conv2d", {Ref("x"), Ref("w"), Ref("b")}, {2, 4, 8, 8})
      .Node("relu", "aten::relu", {Ref("conv")}, {2, 4, 8, 8})
      .Output("relu", {2, 4, 8, 8});
  const std::string text = First(maker);
  EXPECT_THAT(text, HasSubstr(R"("args": ["$x", "$w", null])"));
  EXPECT_THAT(text, HasSubstr("b[i / 64 % 4]"));
  EXPECT_EQ(Kernels(text), 1);
}

TEST(ProposeTest, LeavesTheBiasOfAConvolutionThatNoKernelFollows) {
  GraphMaker maker;
  maker.Input("x", {2, 3, 8, 8})
      .Parameter("w", {4, 3, 1, 1})
      .Parameter("b", {4})
      .Node("relu", "aten::relu", {Ref("x")}, {2, 3, 8, 8})
      .Node("conv", "aten::conv2d", {Ref("relu"), Ref("w"), Ref("b")}, {2, 4, 8, 8})
      .Output("conv", {2, 4, 8, 8});
  const std::string text = First(maker);
  EXPECT_THAT(text, HasSubstr(R"("args": ["$relu", "$w", "$b"], "out": "out0")"));
  EXPECT_EQ(Kernels(text), 1);
}

TEST(ProposeTest, LeavesBatchNormInTrainingToATen) {
  GraphMaker maker;
  maker.Input("x", {2, 4, 8, 8});
  for (const char* name : {"weight", "bias", "mean", "var"}) maker.Parameter(name, {4});
  maker
      .Node("norm", "aten::batch_norm",
            {Ref("x"), Ref("weight"), Ref("bias"), Ref("mean"), Ref("var"), Flag(true), Real(0.1),
             Real(1e-5), Flag(true)},
            {2, 4, 8, 8})
      .Node("relu", "aten::relu", {Ref("norm")}, {2, 4, 8, 8})
      .Output("relu", {2, 4, 8, 8});
  const std::string text = First(maker);
  EXPECT_EQ(Ops(text), 1);
  EXPECT_EQ(Kernels(text), 1);
}

TEST(ProposeTest, NeverMakesTwoKernelsWaitForEachOther) {
  // exp feeds a matmul that feeds add: add may not be one kernel with exp.
  GraphMaker maker;
  maker.Input("x", {64, 64})
      .Node("exp", "aten::exp", {Ref("x")}, {64, 64})
      .Node("mm", "aten::mm", {Ref("exp"), Ref("exp")}, {64, 64})
      .Node("add", "aten::add.Tensor", {Ref("exp"), Ref("mm")}, {64, 64})
      .Output("add", {64, 64});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 2);
  EXPECT_EQ(Ops(text), 1);
}

TEST(ProposeTest, WritesBothWhereATensorInsideIsAlsoAnOutput) {
  GraphMaker maker;
  maker.Input("x", {64, 64})
      .Node("exp", "aten::exp", {Ref("x")}, {64, 64})
      .Node("relu", "aten::relu", {Ref("exp")}, {64, 64})
      .Output("exp", {64, 64})
      .Output("relu", {64, 64});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_THAT(text, HasSubstr(R"("args": ["$x", "$out0", "$out1"])"));
}

TEST(ProposeTest, ReducesTheMiddleDimensionByColumns) {
  GraphMaker maker;
  maker.Input("x", {16, 32, 1024})
      .Node("sum", "aten::sum.dim_IntList", {Ref("x"), Ints({1})}, {16, 1024})
      .Node("neg", "aten::neg", {Ref("sum")}, {16, 1024})
      .Output("neg", {16, 1024});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_THAT(text, HasSubstr("constexpr unsigned kReduced = 32;"));
}

TEST(ProposeTest, SharesFewLongRowsAmongBlocks) {
  GraphMaker maker;
  maker.Input("x", {4, 1048576})
      .Node("sum", "aten::sum.dim_IntList", {Ref("x"), Ints({1})}, {4})
      .Output("sum", {4});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 2);
  EXPECT_EQ(Ops(text), 0);
  EXPECT_THAT(text, HasSubstr("\"buffers\""));
  EXPECT_THAT(text, HasSubstr("SPLIT_BLOCKS"));
  EXPECT_THAT(text, Not(HasSubstr("atomic")));
}

TEST(ProposeTest, LeavesColumnsWithFewResultsToATen) {
  GraphMaker maker;
  maker.Input("x", {1048576, 4})
      .Node("sum", "aten::sum.dim_IntList", {Ref("x"), Ints({0})}, {4})
      .Output("sum", {4});
  EXPECT_EQ(Kernels(First(maker)), 0);
}

TEST(ProposeTest, NormalisesOverAMiddleDimensionFromRegisters) {
  GraphMaker maker;
  const Shape full = {16, 64, 4096};
  const Shape one = {16, 1, 4096};
  maker.Input("x", full)
      .Node("square", "aten::pow.Tensor_Scalar", {Ref("x"), Int(2)}, full)
      .Node("mean", "aten::mean.dim", {Ref("square"), Ints({1}), Flag(true)}, one)
      .Node("eps", "aten::add.Tensor", {Ref("mean"), Real(1e-5)}, one)
      .Node("rms", "aten::sqrt", {Ref("eps")}, one)
      .Node("out", "aten::div.Tensor", {Ref("x"), Ref("rms")}, full)
      .Node("soft", "aten::softmax.int", {Ref("out"), Int(1)}, full)
      .Output("soft", full);
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 2);  // the softmax needs finished results of the other reduction
  EXPECT_THAT(text, HasSubstr("kept in registers"));
}

struct LossCase {
  const char* op;
  std::vector<graph::Value> args;
  int kernels;
};

TEST(ProposeTest, TakesLossesApart) {
  const std::vector<LossCase> cases = {
      {"aten::mse_loss", {Ref("x"), Ref("y")}, 2},
      {"aten::l1_loss", {Ref("x"), Ref("y"), Int(2)}, 2},
      {"aten::smooth_l1_loss", {Ref("x"), Ref("y")}, 2},
      {"aten::huber_loss", {Ref("x"), Ref("y"), Int(1), Real(0.5)}, 2},
      {"aten::kl_div", {Ref("x"), Ref("y"), Int(2)}, 2},
      {"aten::cross_entropy_loss", {Ref("x"), Ref("t")}, 2},
      {"aten::triplet_margin_loss", {Ref("x"), Ref("y"), Ref("z"), Real(1.0)}, 2}};
  for (const LossCase& loss : cases) {
    SCOPED_TRACE(loss.op);
    GraphMaker maker;
    maker.Input("x", {512, 1024}).Input("y", {512, 1024}).Input("z", {512, 1024});
    maker.Input("t", {512}, "int64").Node("loss", loss.op, loss.args, {}).Output("loss", Shape{});
    const std::string text = First(maker);
    EXPECT_EQ(Kernels(text), loss.kernels) << text;
    EXPECT_EQ(Ops(text), 0) << text;
  }
}

TEST(ProposeTest, LeavesALossWholeWhereAPartHasNoKernel) {
  GraphMaker maker;  // few, long columns after the elements: nothing to gain from taking it apart
  maker.Input("x", {64, 32}, "float64").Input("y", {64, 32}, "float64");
  maker.Node("loss", "aten::mse_loss", {Ref("x"), Ref("y")}, {}, "float64")
      .Output("loss", {}, "float64");
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 0);
  EXPECT_THAT(text, HasSubstr("aten::mse_loss"));
}

TEST(ProposeTest, ReadsLogSoftmaxAndNllAsOnePassOverTheScores) {
  GraphMaker maker;
  maker.Input("x", {512, 1024})
      .Input("t", {512}, "int64")
      .Node("log", "aten::log_softmax.int", {Ref("x"), Int(1)}, {512, 1024})
      .Node("loss", "aten::nll_loss_nd", {Ref("log"), Ref("t")}, {})
      .Output("loss", Shape{});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 2) << text;
  EXPECT_EQ(Ops(text), 0) << text;
  EXPECT_EQ(Count(text, "\"$x\""), 1);
}

TEST(ProposeTest, FindsWhereTheLargestElementStands) {
  GraphMaker maker;
  maker.Input("x", {16, 32, 1024})
      .Node("columns", "aten::argmax", {Ref("x"), Int(1)}, {16, 1024}, "int64")
      .Node("rows", "aten::argmin", {Ref("x"), Int(2)}, {16, 32}, "int64")
      .NodeOf("both", "aten::max.dim", {Ref("x"), Int(2)},
              {MakeTensor("values", {16, 32}), MakeTensor("indices", {16, 32}, "int64")})
      .Output("columns", {16, 1024}, "int64")
      .Output("rows", {16, 32}, "int64")
      .Output("values", {16, 32})
      .Output("indices", {16, 32}, "int64");
  const std::string text = First(maker);
  EXPECT_EQ(Ops(text), 0) << text;
  EXPECT_EQ(Kernels(text), 2) << text;
  EXPECT_THAT(text, HasSubstr("long long* __restrict__"));
}

TEST(ProposeTest, ScansRowsWithWhatStandsAround) {
  GraphMaker maker;
  maker.Input("x", {256, 4096})
      .Input("mask", {256, 4096}, "bool")
      .Node("mul", "aten::mul.Tensor", {Ref("x"), Ref("mask")}, {256, 4096})
      .Node("sum", "aten::cumsum", {Ref("mul"), Int(1)}, {256, 4096})
      .Node("relu", "aten::relu", {Ref("sum")}, {256, 4096})
      .Node("flip", "aten::flip", {Ref("relu"), Ints({1})}, {256, 4096})
      .Node("back", "aten::cumsum", {Ref("flip"), Int(1)}, {256, 4096})
      .Node("again", "aten::flip", {Ref("back"), Ints({1})}, {256, 4096})
      .Output("again", {256, 4096});
  const std::string text = First(maker);
  EXPECT_EQ(Ops(text), 0) << text;
  EXPECT_EQ(Kernels(text), 2) << text;
  EXPECT_THAT(text, HasSubstr("kVector - 1 - k"));
}

TEST(ProposeTest, PoolsWithWhatStandsAround) {
  GraphMaker maker;
  maker.Input("x", {4, 8, 32, 32})
      .Parameter("w", {8, 8, 1, 1})
      .Parameter("b", {8})
      .Node("conv", "aten::conv2d", {Ref("x"), Ref("w"), Ref("b")}, {4, 8, 32, 32})
      .Node("relu", "aten::relu", {Ref("conv")}, {4, 8, 32, 32})
      .Node("pool", "aten::max_pool2d", {Ref("relu"), Ints({3, 3}), Ints({2, 2}), Ints({1, 1})},
            {4, 8, 16, 16})
      .Node("scale", "aten::mul.Tensor", {Ref("pool"), Real(2)}, {4, 8, 16, 16})
      .Node("mean", "aten::adaptive_avg_pool2d", {Ref("scale"), Ints({1, 1})}, {4, 8, 1, 1})
      .Output("mean", {4, 8, 1, 1});
  const std::string text = First(maker);
  EXPECT_EQ(Ops(text), 1) << text;
  EXPECT_EQ(Kernels(text), 2) << text;
  EXPECT_THAT(text, HasSubstr(R"("args": ["$x", "$w", null])"));
}

TEST(ProposeTest, LeavesPoolsWithWindowsBeyondThePaddingToATen) {
  GraphMaker maker;
  maker.Input("x", {4, 8, 31, 31})
      .Node("pool", "aten::max_pool2d",
            {Ref("x"), Ints({2, 2}), Ints({2, 2}), Ints({0, 0}), Ints({1, 1}), Flag(true)},
            {4, 8, 16, 16})
      .Output("pool", {4, 8, 16, 16});
  EXPECT_EQ(Kernels(First(maker)), 0);
}

TEST(ProposeTest, SumsTheRowsThatIndicesName) {
  GraphMaker maker;
  maker.Input("indices", {64, 16}, "int64")
      .Parameter("table", {1000, 128})
      .Node("rows", "aten::embedding", {Ref("table"), Ref("indices")}, {64, 16, 128})
      .Node("sum", "aten::sum.dim_IntList", {Ref("rows"), Ints({1})}, {64, 128})
      .Output("sum", {64, 128});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_EQ(Ops(text), 0);
  EXPECT_THAT(text, HasSubstr("Load<kVector>(table"));
}

TEST(ProposeTest, LoadsWhatMayNotBeAlignedElementByElement) {
  GraphMaker maker;
  TensorInfo tail = MakeTensor("tail", {255, 64});
  maker.Input("x", {256, 64})
      .NodeOf("slice", "aten::slice.Tensor", {Ref("x"), Int(0), Int(1), Int(256)}, {tail})
      .Node("exp", "aten::exp", {Ref("tail")}, {255, 64})
      .Output("exp", {255, 64});
  const std::string text = First(maker);
  EXPECT_THAT(text, HasSubstr(R"({"ptr": "$tail", "strided": true})"));
  EXPECT_THAT(text, HasSubstr("tail[(i + k)]"));
  EXPECT_THAT(text, Not(HasSubstr("Load<kVector>(tail")));
}

TEST(ProposeTest, ReadsTransposedTensorsThroughTheirStrides) {
  GraphMaker maker;
  TensorInfo turned = MakeTensor("t", {32, 64});
  turned.strides = {1, 32};
  turned.contiguous = false;
  maker.Input("x", {64, 32})
      .Input("y", {32, 64})
      .NodeOf("transpose", "aten::t", {Ref("x")}, {turned})
      .Node("add", "aten::add.Tensor", {Ref("t"), Ref("y")}, {32, 64})
      .Output("add", {32, 64});
  const std::string text = First(maker);
  EXPECT_THAT(text, HasSubstr(R"({"ptr": "$t", "strided": true})"));
  EXPECT_THAT(text, HasSubstr("t[(i + k) / 64 + (i + k) % 64 * 32]"));
}

TEST(ProposeTest, UsesWideIndicesBeyondTwoToThe31) {
  GraphMaker small;
  small.Input("x", {1 << 15, 1 << 15})
      .Node("relu", "aten::relu", {Ref("x")}, {1 << 15, 1 << 15})
      .Output("relu", {1 << 15, 1 << 15});
  EXPECT_THAT(First(small), HasSubstr("const unsigned i"));
  GraphMaker large;
  large.Input("x", {1 << 16, 1 << 15})
      .Node("relu", "aten::relu", {Ref("x")}, {1 << 16, 1 << 15})
      .Output("relu", {1 << 16, 1 << 15});
  EXPECT_THAT(First(large), HasSubstr("const unsigned long long i"));
}

TEST(ProposeTest, ComputesHalvesInFloat) {
  GraphMaker maker;
  maker.Input("x", {64, 64}, "float16")
      .Node("gelu", "aten::gelu", {Ref("x")}, {64, 64}, "float16")
      .Output("gelu", {64, 64}, "float16");
  const std::string text = First(maker);
  EXPECT_THAT(text, HasSubstr("constexpr int kVector = 8;"));
  EXPECT_THAT(text, HasSubstr("Gelu(__half2float(x_pack.at[k]))"));
  EXPECT_THAT(text, HasSubstr("#include <cuda_fp16.h>"));
}

TEST(ProposeTest, LeavesTypesItDoesNotKnowToATen) {
  for (const char* dtype : {"float64", "int64"}) {
    GraphMaker maker;
    maker.Input("x", {64, 64}, dtype)
        .Node("add", "aten::add.Tensor", {Ref("x"), Int(1)}, {64, 64}, dtype)
        .Output("add", {64, 64}, dtype);
    EXPECT_EQ(Kernels(First(maker)), 0) << dtype;
  }
}

TEST(ProposeTest, WritesEqualKernelsOnce) {
  GraphMaker maker;
  maker.Input("x", {64, 64}).Parameter("w", {64, 64});
  std::string last = "x";
  for (int layer = 0; layer < 3; ++layer) {
    const std::string number = std::to_string(layer);
    maker.Node("mm" + number, "aten::mm", {Ref(last), Ref("w")}, {64, 64})
        .Node("relu" + number, "aten::relu", {Ref("mm" + number)}, {64, 64});
    last = "relu" + number;
  }
  maker.Output(last, {64, 64});
  const std::string text = First(maker);
  EXPECT_EQ(Kernels(text), 3);
  EXPECT_EQ(Count(text, "__global__"), 1);
}

TEST(ProposeTest, LeavesGraphsThatChangeViewsInPlaceAlone) {
  GraphMaker maker;
  maker.Input("x", {4, 4})
      .Node("exp", "aten::exp", {Ref("x")}, {4, 4})
      .Node("row", "aten::select.int", {Ref("exp"), Int(0), Int(0)}, {4})
      .Node("relu_", "aten::relu_", {Ref("row")}, {4})
      .Node("add", "aten::add.Tensor", {Ref("exp"), Int(1)}, {4, 4})
      .Output("add", {4, 4});
  const auto options = Options(maker.graph, maker.problem);
  ASSERT_EQ(options.size(), 1u);
  EXPECT_THAT(options[0].note, HasSubstr("in place"));
}

// A graph of random operators over a few shapes that broadcast with each other.
GraphMaker RandomGraph(unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](size_t count) { return static_cast<size_t>(random() % count); };
  const std::vector<Shape> shapes = {{256, 128}, {128}, {256, 1}, {1}, {128, 128}};
  GraphMaker maker;
  std::vector<TensorInfo> tensors;
  for (size_t s = 0; s < shapes.size(); ++s) {
    const std::string name = "in" + std::to_string(s);
    maker.Input(name, shapes[s]);
    tensors.push_back(MakeTensor(name, shapes[s]));
  }
  auto add = [&](const std::string& op, std::vector<graph::Value> args, const Shape& shape) {
    const std::string name = "n" + std::to_string(maker.graph.nodes.size());
    maker.Node(name, op, std::move(args), shape);
    tensors.push_back(MakeTensor(name, shape));
  };
  const std::vector<std::string> unary = {"aten::relu", "aten::gelu", "aten::exp", "aten::tanh"};
  const std::vector<std::string> binary = {"aten::add.Tensor", "aten::mul.Tensor", "aten::maximum"};
  for (int step = 0; step < 25; ++step) {
    const TensorInfo a = tensors[pick(tensors.size())];
    const TensorInfo b = tensors[pick(tensors.size())];
    const bool full = a.shape == shapes[0];
    switch (pick(7)) {
      case 0:
      case 1:
        add(unary[pick(unary.size())], {Ref(a.name)}, a.shape);
        break;
      case 2:
      case 3:
        if (full && (b.shape == shapes[0] || b.shape == shapes[1] || b.shape == shapes[2] ||
                     b.shape == shapes[3])) {
          add(binary[pick(binary.size())], {Ref(a.name), Ref(b.name)}, a.shape);
        }
        break;
      case 4:
        if (full) add("aten::mean.dim", {Ref(a.name), Ints({1}), Flag(true)}, {256, 1});
        break;
      case 5:
        if (full) add("aten::softmax.int", {Ref(a.name), Int(-1)}, a.shape);
        break;
      default:
        if (full && b.shape == shapes[4]) add("aten::mm", {Ref(a.name), Ref(b.name)}, a.shape);
    }
  }
  int outputs = 0;
  for (size_t t = shapes.size(); t < tensors.size(); ++t) {
    if (pick(4) == 0 || t + 1 == tensors.size()) {
      maker.Output(tensors[t].name, tensors[t].shape);
      ++outputs;
    }
  }
  if (outputs == 0) maker.Output("in0", shapes[0]);
  return maker;
}

TEST(ProposeTest, CoversEveryNodeOfRandomGraphsExactlyOnce) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const GraphMaker maker = RandomGraph(seed);
    Options(maker.graph, maker.problem);
    auto normal = Normalize(maker.graph, maker.problem);
    ASSERT_TRUE(normal);
    ExpectCovered(*normal, FindRegions(*normal, GraphLinks(*normal)));
  }
}

}  // namespace
}  // namespace cudaagent::rewrite
