// The graph JSON: the form src/graph/graph.h states, read back by its parser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "reference/python/models.h"

namespace cudaagent::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

graph::Graph GraphOf(const Reference& reference) {
  EXPECT_EQ(reference.info().export_error, "");
  auto graph = graph::ParseGraph(reference.info().graph_json);
  EXPECT_TRUE(graph) << graph.error().message << "\n" << reference.info().graph_json;
  return graph.value_or(graph::Graph{});
}

std::vector<std::string> Ops(const graph::Graph& graph) {
  std::vector<std::string> ops;
  for (const graph::Node& node : graph.nodes) ops.push_back(node.op + "." + node.overload);
  return ops;
}

TEST(ExportTest, WritesOneNodeAsTheHeaderStates) {
  auto reference = Load(WithForward("return self.fc(x)", "self.fc = nn.Linear(4, 3)"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->info().graph_json,
            R"({"nodes":[{"name":"linear","op":"aten::linear","overload":"default",)"
            R"("args":[{"ref":"x"},{"ref":"fc.weight"},{"ref":"fc.bias"}],"kwargs":{},)"
            R"("outputs":[{"name":"linear","shape":[2,3],"strides":[3,1],"dtype":"float32"}],)"
            R"("returns_list":false}],"outputs":["linear"]})");
}

TEST(ExportTest, SaysThatForwardDrawsRandomNumbers) {
  for (const char* draw :
       {"torch.rand_like(x)", "torch.randn(x.shape)", "nn.functional.dropout(x, 0.5, True)",
        "nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1)"}) {
    auto reference = Load(WithForward(std::string("return x + ") + draw));
    ASSERT_TRUE(reference) << draw;
    EXPECT_EQ(reference->info().graph_json, "") << draw;
    EXPECT_THAT(
        reference->info().export_error,
        testing::MatchesRegex("forward draws random numbers \\(aten::[a-z_]+\\), which no plan "
                              "can repeat; draw them in get_inputs\\(\\) and pass them in."))
        << draw;
  }
}

TEST(ExportTest, WhatDrawsNothingAfterAllIsExported) {
  for (const char* body :
       {"return nn.functional.dropout(x, 0.5, False)", "return nn.functional.dropout(x, 0.0, True)",
        "torch.rand(3); return x * 2",
        "return nn.functional.scaled_dot_product_attention(x, x, x)"}) {
    auto reference = Load(WithForward(body));
    ASSERT_TRUE(reference) << body;
    EXPECT_NE(reference->info().graph_json, "") << reference->info().export_error;
  }
}

TEST(ExportTest, NamesEveryOutputOfANodeWithSeveral) {
  auto reference = Load(WithForward("return x.max(1)[0], torch.split(x, 1, 1)[2]"));
  ASSERT_TRUE(reference);
  graph::Graph graph = GraphOf(*reference);
  ASSERT_THAT(Ops(graph), ElementsAre("aten::max.dim", "aten::split.Tensor"));
  EXPECT_EQ(graph.nodes[0].outputs.size(), 2u);
  EXPECT_FALSE(graph.nodes[0].returns_list);
  EXPECT_EQ(graph.nodes[1].outputs.size(), 4u);
  EXPECT_TRUE(graph.nodes[1].returns_list);
  EXPECT_THAT(graph.outputs,
              ElementsAre(graph.nodes[0].outputs[0].name, graph.nodes[1].outputs[2].name));
}

TEST(ExportTest, LiftsTensorsMadeInForward) {
  auto reference = Load(WithForward("return torch.min(x, torch.tensor(0.25))"));
  ASSERT_TRUE(reference);
  EXPECT_THAT(Ops(GraphOf(*reference)), ElementsAre("aten::min.other"));
  ASSERT_EQ(reference->info().constants.size(), 1u);
  EXPECT_EQ(reference->info().constants[0].name, "const0");
  EXPECT_EQ(reference->parameters().at("const0").item<float>(), 0.25f);
}

TEST(ExportTest, CopiesWhatTheModelWritesInto) {
  auto reference = Load(
      WithForward("self.state.copy_(x); return self.state + 1", "self.state = torch.zeros(2, 4)"));
  ASSERT_TRUE(reference);
  graph::Graph graph = GraphOf(*reference);
  EXPECT_THAT(Ops(graph),
              ElementsAre("aten::clone.default", "aten::copy_.default", "aten::add.Tensor"));
  EXPECT_EQ(std::get<graph::Ref>(graph.nodes[0].args[0].value).name, "const0");
  EXPECT_EQ(std::get<graph::Ref>(graph.nodes[1].args[0].value).name, graph.nodes[0].name);
}

TEST(ExportTest, LeavesInPlaceOperatorsOnIntermediateValues) {
  auto reference = Load(WithForward("y = x * 2; y.relu_(); return y + 1"));
  ASSERT_TRUE(reference);
  EXPECT_THAT(Ops(GraphOf(*reference)),
              ElementsAre("aten::mul.Tensor", "aten::relu_.default", "aten::add.Tensor"));
}

TEST(ExportTest, DropsDevicesAndWhatIsNotUsed) {
  auto reference = Load(WithForward(
      "z = torch.exp(x); return (x + torch.ones(4, device=x.device)).to(x.device, torch.float16)"));
  ASSERT_TRUE(reference);
  EXPECT_THAT(Ops(GraphOf(*reference)),
              ElementsAre("aten::ones.default", "aten::add.Tensor", "aten::to.dtype"));
  EXPECT_THAT(reference->info().graph_json, ::testing::Not(HasSubstr("cpu")));
  EXPECT_THAT(reference->info().graph_json, HasSubstr(R"("float16",false,false])"));
}

TEST(ExportTest, WritesNumbersJsonDoesNotHave) {
  auto reference =
      Load(WithForward("return x.masked_fill(x > 0.5, float('-inf')).clamp(-1e30, 2.0)"));
  ASSERT_TRUE(reference);
  EXPECT_THAT(reference->info().graph_json, HasSubstr(R"({"float":"-inf"})"));
  EXPECT_THAT(reference->info().graph_json, HasSubstr("-1e+30,2.0]"));
  GraphOf(*reference);
}

TEST(ExportTest, InlinesBlocksWithoutGradients) {
  auto reference = Load(WithForward(
      "y = x * 2\n        with torch.enable_grad():\n            z = y + 1\n        return z * y"));
  ASSERT_TRUE(reference);
  EXPECT_THAT(Ops(GraphOf(*reference)),
              ElementsAre("aten::mul.Tensor", "aten::add.Tensor", "aten::mul.Tensor"));
}

TEST(ExportTest, KnowsTheShapesOfRecurrentOperators) {
  auto reference =
      Load(WithForward("y, (h, c) = self.lstm(x.expand(3, 5000, 4)); return self.gru(y)[1], c",
                       "self.lstm = nn.LSTM(4, 7, 2, batch_first=True); self.gru = nn.GRU(7, 6)"),
           {{"N", "1"}});
  ASSERT_TRUE(reference);
  graph::Graph graph = GraphOf(*reference);
  std::map<std::string, std::vector<std::vector<int64_t>>> shapes;
  for (const graph::Node& node : graph.nodes) {
    for (const TensorInfo& info : node.outputs) shapes[node.op].push_back(info.shape);
  }
  EXPECT_THAT(shapes["aten::lstm"],
              ElementsAre(ElementsAre(3, 5000, 7), ElementsAre(2, 3, 7), ElementsAre(2, 3, 7)));
  EXPECT_THAT(shapes["aten::gru"], ElementsAre(ElementsAre(3, 5000, 6), ElementsAre(1, 5000, 6)));
  EXPECT_THAT(reference->info().outputs[1].shape, ElementsAre(2, 3, 7));
}

TEST(ExportTest, NamesAParameterThatAnInputHides) {
  auto reference = Load(
      "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n"
      "    def __init__(self):\n        super().__init__()\n"
      "        self.bias = nn.Parameter(torch.zeros(4))\n"
      "    def forward(self, bias, add):\n        return bias + self.bias + add\n"
      "def get_inputs():\n    return [torch.rand(4), torch.rand(4)]\n"
      "def get_init_inputs():\n    return []\n");
  ASSERT_TRUE(reference);
  graph::Graph graph = GraphOf(*reference);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(std::get<graph::Ref>(graph.nodes[0].args[0].value).name, "bias");
  EXPECT_EQ(std::get<graph::Ref>(graph.nodes[0].args[1].value).name, "param:bias");
  EXPECT_NE(graph.nodes[0].name, "add");  // the input has that name
}

TEST(ExportTest, ReportsAModelItCannotExportAndStillRunsIt) {
  auto reference = Load(WithForward("return x if x.sum() > 0 else -x"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->info().graph_json, "");
  EXPECT_THAT(reference->info().export_error, StartsWith("torch.export: "));
  EXPECT_EQ(reference->info().outputs.size(), 1u);
  auto inputs = reference->MakeInputs(0);
  ASSERT_TRUE(inputs);
  EXPECT_TRUE(reference->Forward(*inputs, Precision::kFp32));
}

TEST(ExportTest, ReportsAnOperatorThatIsNotAten) {
  auto reference =
      Load(WithForward("return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->info().export_error,
            "The graph calls 'cond', which is not an ATen operator.");
}

}  // namespace
}  // namespace cudaagent::reference
