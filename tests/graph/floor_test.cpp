#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

constexpr int64_t kBytes = 4 * 1024;

TensorInfo Tensor(const std::string& name, int64_t bytes = kBytes) {
  TensorInfo info;
  info.name = name;
  info.shape = {bytes / 4};
  info.strides = {1};
  info.dtype = "float32";
  info.bytes = bytes;
  return info;
}

Node Step(const std::string& op, std::vector<std::string> reads, const std::string& writes) {
  Node node;
  node.name = writes;
  node.op = op;
  for (const std::string& name : reads) node.args.push_back({Ref{name}});
  node.outputs = {Tensor(writes)};
  return node;
}

ProblemInfo Problem() {
  ProblemInfo problem;
  problem.inputs = {Tensor("x"), Tensor("other", 8 * kBytes)};
  problem.parameters = {Tensor("weight", 100 * kBytes)};
  problem.outputs = {Tensor("out0")};
  return problem;
}

int64_t BytesOf(std::vector<Node> nodes) {
  Graph graph;
  graph.nodes = std::move(nodes);
  return UnavoidableBytes(graph, Problem());
}

TEST(UnavoidableBytesTest, CountsAnInputThatIsReadWholeAndTheOutput) {
  EXPECT_EQ(BytesOf({Step("aten::relu", {"x"}, "y")}), 2 * kBytes);
  EXPECT_EQ(BytesOf({Step("aten::add", {"x", "other"}, "y")}), 10 * kBytes);
}

TEST(UnavoidableBytesTest, FollowsViewsThatPassAllOn) {
  EXPECT_EQ(BytesOf({Step("aten::view", {"other"}, "v"), Step("aten::permute", {"v"}, "p"),
                     Step("aten::sum", {"p"}, "y")}),
            9 * kBytes);
}

TEST(UnavoidableBytesTest, LeavesOutWhatMayStayUnread) {
  EXPECT_EQ(BytesOf({Step("aten::slice", {"x"}, "s"), Step("aten::relu", {"s"}, "y")}), kBytes);
  EXPECT_EQ(BytesOf({Step("aten::matmul", {"x", "other"}, "y")}), kBytes);
  EXPECT_EQ(BytesOf({Step("aten::embedding", {"weight", "x"}, "y")}), kBytes);
  EXPECT_EQ(BytesOf({Step("aten::mul", {"x", "other"}, "y")}), kBytes);  // a mask may be zero
}

TEST(UnavoidableBytesTest, LeavesOutParameters) {
  EXPECT_EQ(BytesOf({Step("aten::add", {"x", "weight"}, "y")}), 2 * kBytes);
}

}  // namespace
}  // namespace cudaagent::graph
