#include "rewrite/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "candidate/plan.h"
#include "candidate/validate.h"
#include "golden.h"
#include "graph_maker.h"
#include "load_problem.h"

namespace cudaagent::rewrite {
namespace {

using namespace cudaagent::test;
using testing::HasSubstr;
using testing::Not;

std::string Init(const GraphMaker& maker) {
  auto text = WriteInitCandidate(maker.graph, maker.problem);
  EXPECT_TRUE(text) << text.error().message;
  auto candidate = candidate::ParseCandidate(*text);
  EXPECT_TRUE(candidate) << candidate.error().message << *text;
  auto valid = candidate::ValidatePlan(*candidate, maker.problem);
  EXPECT_TRUE(valid) << valid.error().message << *text;
  return *text;
}

TEST(InitTest, WritesWhatTheGoldenFileSays) {
  const LoadedProblem loaded = LoadProblem(TestFile("problems/conv_bn_relu.json"));
  auto text = WriteInitCandidate(loaded.graph, loaded.problem);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, Golden("conv_bn_relu.init.cu", *text));
  EXPECT_EQ(*text, *WriteInitCandidate(loaded.graph, loaded.problem));
}

TEST(InitTest, NamesAParameterHiddenByAnInput) {
  GraphMaker maker;
  maker.Input("bias", {4})
      .Parameter("bias", {4})
      .Node("add", "aten::add.Tensor", {Ref("bias"), Ref("param:bias")}, {4})
      .Output("add", {4});
  EXPECT_THAT(Init(maker), HasSubstr(R"("args": ["$bias", "$param:bias"], "out": "out0")"));
}

TEST(InitTest, CopiesAnOutputThatIsAnInputOrItsView) {
  GraphMaker maker;
  maker.Input("x", {4, 2})
      .Node("view", "aten::view", {Ref("x"), Ints({8})}, {8})
      .Output("view", {8})
      .Output("x", {4, 2});
  const std::string text = Init(maker);
  EXPECT_THAT(text, HasSubstr(R"("op": "aten::clone", "args": ["$view"])"));
  EXPECT_THAT(text, HasSubstr(R"("op": "aten::clone", "args": ["$x"])"));
}

TEST(InitTest, LetsAViewOfAResultBeAnOutput) {
  GraphMaker maker;
  maker.Input("x", {4, 2})
      .Node("exp", "aten::exp", {Ref("x")}, {4, 2})
      .Node("view", "aten::view", {Ref("exp"), Ints({8})}, {8})
      .Output("view", {8});
  const std::string text = Init(maker);
  EXPECT_THAT(text, HasSubstr(R"("out": "out0")"));
  EXPECT_THAT(text, Not(HasSubstr("clone")));
}

TEST(InitTest, CopiesAResultThatIsTwoOutputs) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Node("exp", "aten::exp", {Ref("x")}, {4})
      .Output("exp", {4})
      .Output("exp", {4});
  EXPECT_THAT(Init(maker), HasSubstr(R"("op": "aten::clone", "args": ["$out0"])"));
}

TEST(InitTest, FillsAnOutputWhoseStridesNoCloneGives) {
  GraphMaker maker;
  TensorInfo gaps = MakeTensor("", {4});
  gaps.strides = {3};
  gaps.contiguous = false;
  maker.Input("x", {4}).Node("exp", "aten::exp", {Ref("x")}, {4}).Output("exp", gaps);
  EXPECT_THAT(Init(maker), HasSubstr(R"({"op": "aten::copy_", "args": ["$out0", "$exp"])"));
}

TEST(InitTest, ClonesIntoChannelsLast) {
  GraphMaker maker;
  TensorInfo last = MakeTensor("", {2, 3, 4, 5});
  last.strides = {60, 1, 15, 3};
  last.contiguous = false;
  maker.Input("x", {2, 3, 4, 5})
      .Node("exp", "aten::exp", {Ref("x")}, {2, 3, 4, 5})
      .Output("exp", last);
  EXPECT_THAT(Init(maker), HasSubstr(R"("memory_format": "channels_last")"));
}

TEST(InitTest, ListsTheResultsOfATuple) {
  GraphMaker maker;
  maker.Input("x", {4, 4})
      .NodeOf("max", "aten::max.dim", {Ref("x"), Int(1)},
              {MakeTensor("values", {4}), MakeTensor("indices", {4}, "int64")})
      .Output("values", {4});
  EXPECT_THAT(Init(maker), HasSubstr(R"("out": ["out0", "indices"])"));
}

TEST(InitTest, GivesResultsNamesThatAreNew) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Parameter("exp_1", {4})
      .Node("exp.1", "aten::exp", {Ref("x")}, {4})
      .Node("out0", "aten::exp", {Ref("exp.1")}, {4})
      .Node("y", "aten::exp", {Ref("out0")}, {4})
      .Output("y", {4});
  const std::string text = Init(maker);
  EXPECT_THAT(text, HasSubstr(R"("out": "exp_1_")"));
  EXPECT_THAT(text, HasSubstr(R"("args": ["$exp_1_"], "out": "out0_")"));
}

TEST(InitTest, WritesInfinitiesAsText) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Node("clamp", "aten::clamp", {Ref("x"), Real(-1.0 / 0.0), Real(1e-5)}, {4})
      .Output("clamp", {4});
  EXPECT_THAT(Init(maker), HasSubstr(R"(["$x", "-inf", 1e-05])"));
}

}  // namespace
}  // namespace cudaagent::rewrite
