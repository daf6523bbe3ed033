#include "rewrite/normal_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph_maker.h"

namespace cudaagent::rewrite {
namespace {

using namespace cudaagent::test;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Ops(const NormalGraph& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.nodes) ops.push_back(node.op.substr(6));
  return ops;
}

NormalGraph Normal(const GraphMaker& maker) {
  auto graph = Normalize(maker.graph, maker.problem);
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

TEST(NormalGraphTest, DropsAssertsAliasesAndDeadNodes) {
  GraphMaker maker;
  maker.Input("x", {4, 4})
      .NodeOf("check", "aten::_assert_tensor_metadata", {Ref("x")}, {})
      .Node("detach", "aten::detach_", {Ref("x")}, {4, 4})
      .Node("dropout", "aten::dropout", {Ref("detach"), Real(0.5), Flag(false)}, {4, 4})
      .Node("same", "aten::contiguous", {Ref("dropout")}, {4, 4})
      .Node("dead", "aten::exp", {Ref("same")}, {4, 4})
      .Node("relu", "aten::relu", {Ref("same")}, {4, 4})
      .Output("relu", {4, 4});
  const NormalGraph graph = Normal(maker);
  EXPECT_THAT(Ops(graph), ElementsAre("relu"));
  EXPECT_EQ(AsRef(graph.nodes[0].args[0])->name, "x");
}

TEST(NormalGraphTest, KeepsDropoutThatDrops) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Node("dropout", "aten::dropout", {Ref("x"), Real(0.5), Flag(true)}, {4})
      .Output("dropout", {4});
  EXPECT_THAT(Ops(Normal(maker)), ElementsAre("dropout"));
}

TEST(NormalGraphTest, ReplacesInPlaceOperatorsAndRenamesLaterUses) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Node("exp", "aten::exp", {Ref("x")}, {4})
      .Node("relu_", "aten::relu_", {Ref("exp")}, {4})
      .Node("add", "aten::add.Tensor", {Ref("exp"), Ref("relu_")}, {4})  // exp: its new value
      .Output("add", {4});
  const NormalGraph graph = Normal(maker);
  EXPECT_FALSE(graph.in_place);
  EXPECT_THAT(Ops(graph), ElementsAre("exp", "relu", "add"));
  EXPECT_THAT(graph::RefsOf(graph.nodes[2]), ElementsAre("relu_", "relu_"));
}

TEST(NormalGraphTest, NeverWritesAnInput) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Node("relu_", "aten::relu_", {Ref("x")}, {4})
      .Node("add", "aten::add.Tensor", {Ref("x"), Int(1)}, {4})
      .Output("add", {4});
  const NormalGraph graph = Normal(maker);
  EXPECT_THAT(Ops(graph), ElementsAre("relu", "add"));
  EXPECT_THAT(graph::RefsOf(graph.nodes[1]), ElementsAre("relu_"));
}

TEST(NormalGraphTest, LetsACopyKeepItsOldValue) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Node("exp", "aten::exp", {Ref("x")}, {4})
      .Node("kept", "aten::clone", {Ref("exp")}, {4})
      .Node("relu_", "aten::relu_", {Ref("exp")}, {4})
      .Node("add", "aten::add.Tensor", {Ref("kept"), Ref("relu_")}, {4})
      .Output("add", {4});
  const NormalGraph graph = Normal(maker);
  EXPECT_THAT(Ops(graph), ElementsAre("exp", "relu", "add"));
  EXPECT_THAT(graph::RefsOf(graph.nodes[2]), ElementsAre("exp", "relu_"));
}

TEST(NormalGraphTest, TurnsACopyIntoBroadcastAndConversion) {
  GraphMaker maker;
  maker.Input("x", {4})
      .Parameter("state", {2, 4})
      .Node("copy_", "aten::copy_", {Ref("state"), Ref("x")}, {2, 4})
      .Node("exp", "aten::exp", {Ref("state")}, {2, 4})
      .Output("exp", {2, 4});
  const NormalGraph graph = Normal(maker);
  EXPECT_THAT(Ops(graph), ElementsAre("expand", "exp"));
}

TEST(NormalGraphTest, KeepsInPlaceOperatorsWhereAViewIsChangedAndItsBaseIsRead) {
  GraphMaker maker;
  maker.Input("x", {4, 4})
      .Node("exp", "aten::exp", {Ref("x")}, {4, 4})
      .Node("row", "aten::select.int", {Ref("exp"), Int(0), Int(0)}, {4})
      .Node("relu_", "aten::relu_", {Ref("row")}, {4})
      .Node("add", "aten::add.Tensor", {Ref("exp"), Int(1)}, {4, 4})
      .Output("add", {4, 4});
  const NormalGraph graph = Normal(maker);
  EXPECT_TRUE(graph.in_place);
  EXPECT_THAT(Ops(graph), ElementsAre("exp", "select", "relu_", "add"));
}

TEST(NormalGraphTest, ClonesAProblemTensorWhoseViewIsChanged) {
  GraphMaker maker;
  maker.Input("x", {4, 4})
      .Node("row", "aten::select.int", {Ref("x"), Int(0), Int(0)}, {4})
      .Node("relu_", "aten::relu_", {Ref("row")}, {4})
      .Node("add", "aten::add.Tensor", {Ref("x"), Int(1)}, {4, 4})
      .Output("add", {4, 4});
  const NormalGraph graph = Normal(maker);
  EXPECT_TRUE(graph.in_place);
  EXPECT_THAT(Ops(graph), ElementsAre("clone", "select", "relu_", "add"));
  EXPECT_THAT(graph::RefsOf(graph.nodes[0]), ElementsAre("x"));
  EXPECT_THAT(graph::RefsOf(graph.nodes[1]), ElementsAre("own_copy_of_x"));
  EXPECT_THAT(graph::RefsOf(graph.nodes[3]), ElementsAre("own_copy_of_x"));
}

TEST(NormalGraphTest, NamesNoDevice) {
  GraphMaker maker;
  maker.Input("x", {4}).Node("ones", "aten::ones", {Ints({4})}, {4});
  maker.graph.nodes.back().kwargs = {{"device", Text("cuda:0")}, {"pin_memory", Flag(false)}};
  maker.Node("half", "aten::to.dtype_layout", {Ref("ones")}, {4}, "float16")
      .Output("half", {4}, "float16");
  maker.graph.nodes.back().kwargs = {{"dtype", Text("float16")}, {"device", Text("cuda:0")}};
  const NormalGraph graph = Normal(maker);
  EXPECT_TRUE(graph.nodes[0].kwargs.empty());
  EXPECT_EQ(graph.nodes[1].overload, "dtype");
  EXPECT_TRUE(graph.nodes[1].kwargs.empty());
  EXPECT_EQ(std::get<std::string>(graph.nodes[1].args.at(1).value), "float16");
}

TEST(NormalGraphTest, RefusesNamesThatNothingHas) {
  GraphMaker maker;
  maker.Input("x", {4}).Node("relu", "aten::relu", {Ref("y")}, {4}).Output("relu", {4});
  auto graph = Normalize(maker.graph, maker.problem);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("\"y\""));
  maker.graph.nodes[0].args = {Ref("x")};
  maker.problem.outputs.push_back(MakeTensor("out1", {4}));
  EXPECT_FALSE(Normalize(maker.graph, maker.problem));
}

}  // namespace
}  // namespace cudaagent::rewrite
