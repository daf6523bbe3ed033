#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

TensorInfo Tensor(const std::string& name, std::vector<int64_t> shape) {
  TensorInfo info;
  info.name = name;
  info.shape = shape;
  info.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    info.strides[d] = stride;
    stride *= shape[d];
  }
  info.dtype = "float32";
  info.bytes = info.numel() * 4;
  return info;
}

Value Ints(std::vector<int64_t> numbers) {
  ValueList list;
  for (int64_t n : numbers) list.push_back({n});
  return {list};
}

Work Estimate(const std::string& op, std::vector<Value> args, std::vector<TensorInfo> tensors,
              TensorInfo output) {
  Node node;
  node.name = output.name;
  node.op = op;
  node.args = std::move(args);
  node.outputs = {output};
  std::map<std::string, TensorInfo> table;
  for (const TensorInfo& info : tensors) table[info.name] = info;
  return EstimateNode(node, table);
}

Value R(const char* name) { return {Ref{name}}; }

TEST(EstimateNodeTest, CountsTwoFlopsPerMultiplyAdd) {
  auto work = Estimate("aten::mm", {R("a"), R("b")}, {Tensor("a", {8, 16}), Tensor("b", {16, 32})},
                       Tensor("y", {8, 32}));
  EXPECT_EQ(work.flops, 2.0 * 8 * 16 * 32);
  EXPECT_EQ(work.bytes_read, 4 * (8 * 16 + 16 * 32));
  EXPECT_EQ(work.bytes_written, 4 * 8 * 32);
}

TEST(EstimateNodeTest, AddsTheBiasOfALinear) {
  std::vector<TensorInfo> tensors = {Tensor("x", {8, 16}), Tensor("w", {32, 16}),
                                     Tensor("b", {32})};
  auto plain = Estimate("aten::linear", {R("x"), R("w"), {}}, tensors, Tensor("y", {8, 32}));
  auto biased = Estimate("aten::linear", {R("x"), R("w"), R("b")}, tensors, Tensor("y", {8, 32}));
  EXPECT_EQ(plain.flops, 2.0 * 8 * 16 * 32);
  EXPECT_EQ(biased.flops - plain.flops, 8 * 32);
}

TEST(EstimateNodeTest, CountsConvolutionsByOutputAndTransposedOnesByInput) {
  auto work = Estimate("aten::conv2d", {R("x"), R("w"), {}},
                       {Tensor("x", {2, 6, 10, 10}), Tensor("w", {8, 3, 3, 3})},  // two groups
                       Tensor("y", {2, 8, 8, 8}));
  EXPECT_EQ(work.flops, 2.0 * (2 * 8 * 8 * 8) * (3 * 3 * 3));
  auto transposed =
      Estimate("aten::conv_transpose2d", {R("x"), R("w"), {}},
               {Tensor("x", {2, 8, 8, 8}), Tensor("w", {8, 4, 3, 3})}, Tensor("y", {2, 4, 10, 10}));
  EXPECT_EQ(transposed.flops, 2.0 * (2 * 8 * 8 * 8) * (4 * 3 * 3));
}

TEST(EstimateNodeTest, CountsEveryLabelOfAnEinsumOnce) {
  auto work =
      Estimate("aten::einsum", {{std::string("bijl,lk->bijk")}, {ValueList{R("a"), R("b")}}},
               {Tensor("a", {2, 3, 4, 5}), Tensor("b", {5, 6})}, Tensor("y", {2, 3, 4, 6}));
  EXPECT_EQ(work.flops, 2.0 * 2 * 3 * 4 * 5 * 6);
}

TEST(EstimateNodeTest, CountsAttentionRecurrenceAndPooling) {
  auto attention = Estimate(
      "aten::scaled_dot_product_attention", {R("q"), R("k"), R("v")},
      {Tensor("q", {2, 4, 8, 16}), Tensor("k", {2, 4, 32, 16}), Tensor("v", {2, 4, 32, 16})},
      Tensor("y", {2, 4, 8, 16}));
  EXPECT_EQ(attention.flops, 4.0 * 2 * 4 * 8 * 32 * 16);
  auto lstm = Estimate("aten::lstm", {R("x"), {ValueList{R("h")}}, {ValueList{R("w")}}},
                       {Tensor("x", {5, 7, 16}), Tensor("h", {1, 7, 8}), Tensor("w", {32, 16})},
                       Tensor("y", {5, 7, 8}));
  EXPECT_EQ(lstm.flops, 2.0 * 32 * 16 * 35);
  auto pool = Estimate("aten::max_pool2d", {R("x"), Ints({2, 2})}, {Tensor("x", {1, 1, 8, 8})},
                       Tensor("y", {1, 1, 4, 4}));
  EXPECT_EQ(pool.flops, 4.0 * 16);
}

TEST(EstimateNodeTest, ChargesNothingForViewsAndBytesOnlyForCopies) {
  auto view =
      Estimate("aten::view", {R("x"), Ints({16})}, {Tensor("x", {4, 4})}, Tensor("y", {16}));
  EXPECT_EQ(view.flops + static_cast<double>(view.bytes_read + view.bytes_written), 0);
  TensorInfo transposed = Tensor("x", {4, 4});
  transposed.strides = {1, 4};
  transposed.contiguous = false;
  auto copy = Estimate("aten::contiguous", {R("x")}, {transposed}, Tensor("y", {4, 4}));
  EXPECT_EQ(copy.flops, 0);
  EXPECT_EQ(copy.bytes_written, 64);
}

TEST(EstimateNodeTest, ChargesOneFlopPerPointwiseElementAndPerReducedOne) {
  auto relu = Estimate("aten::relu", {R("x")}, {Tensor("x", {4, 4})}, Tensor("y", {4, 4}));
  EXPECT_EQ(relu.flops, 16);
  auto sum = Estimate("aten::sum", {R("x"), Ints({1})}, {Tensor("x", {4, 4})}, Tensor("y", {4}));
  EXPECT_EQ(sum.flops, 16);
  EXPECT_EQ(sum.bytes_written, 16);
}

TEST(EstimateWorkTest, ReadsEachTensorOfTheProblemOnceAndSkipsUnusedOnes) {
  ProblemInfo problem;
  problem.inputs = {Tensor("x", {4, 4})};
  problem.parameters = {Tensor("w", {4, 4}), Tensor("unused", {100})};
  problem.outputs = {Tensor("out0", {4, 4})};
  Graph graph;
  Node mm;
  mm.name = "mm";
  mm.op = "aten::mm";
  mm.args = {R("x"), R("w")};
  mm.outputs = {Tensor("mm", {4, 4})};
  Node add;
  add.name = "add";
  add.op = "aten::add";
  add.args = {R("mm"), R("x")};
  add.outputs = {Tensor("add", {4, 4})};
  graph.nodes = {mm, add};
  graph.outputs = {"add"};
  auto work = EstimateWork(graph, problem);
  EXPECT_EQ(work.flops, 2.0 * 64 + 16);
  EXPECT_EQ(work.bytes_read, 2 * 64);
  EXPECT_EQ(work.bytes_written, 64);
}

}  // namespace
}  // namespace cudaagent::graph
