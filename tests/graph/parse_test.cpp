#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string OneNode(const std::string& fields) {
  return R"({"nodes":[{"name":"n0","op":"aten::relu","overload":"default","args":[{"ref":"x"}],)"
         R"("outputs":[{"name":"n0","shape":[2,3],"strides":[3,1],"dtype":"float32"}])" +
         fields + R"(}],"outputs":["n0"]})";
}

std::string WithOutput(const std::string& output) {
  return R"({"nodes":[{"name":"n0","op":"aten::relu","overload":"","args":[],"outputs":[)" +
         output + R"(]}],"outputs":["n0"]})";
}

std::string WithArgs(const std::string& args) {
  return R"({"nodes":[{"name":"n0","op":"aten::relu","overload":"","args":)" + args +
         R"(,"outputs":[{"name":"n0","shape":[],"strides":[],"dtype":"bool"}]}],"outputs":["n0"]})";
}

TEST(ParseGraphTest, ReadsEveryKindOfValue) {
  auto graph = ParseGraph(WithArgs(
      R"([null, true, 3, 3.5, "float32", {"ref": "x"}, {"float": "-inf"}, [1, {"ref": "y"}]])"));
  ASSERT_TRUE(graph) << graph.error().message;
  const auto& args = graph->nodes[0].args;
  ASSERT_EQ(args.size(), 8u);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(args[0].value));
  EXPECT_EQ(std::get<bool>(args[1].value), true);
  EXPECT_EQ(std::get<int64_t>(args[2].value), 3);
  EXPECT_EQ(std::get<double>(args[3].value), 3.5);
  EXPECT_EQ(std::get<std::string>(args[4].value), "float32");
  EXPECT_EQ(std::get<Ref>(args[5].value).name, "x");
  EXPECT_EQ(std::get<double>(args[6].value), -INFINITY);
  EXPECT_EQ(std::get<ValueList>(args[7].value).size(), 2u);
  EXPECT_THAT(RefsOf(graph->nodes[0]), ElementsAre("x", "y"));
}

TEST(ParseGraphTest, ComputesBytesAndContiguityItself) {
  auto graph = ParseGraph(OneNode(R"(,"kwargs":{"dim":1})"));
  ASSERT_TRUE(graph) << graph.error().message;
  const TensorInfo& info = graph->nodes[0].outputs[0];
  EXPECT_EQ(info.bytes, 24);
  EXPECT_TRUE(info.contiguous);
  EXPECT_EQ(graph->nodes[0].kwargs[0].first, "dim");
  auto transposed =
      ParseGraph(WithOutput(R"({"name":"n0","shape":[2,3],"strides":[1,2],"dtype":"float16"})"));
  ASSERT_TRUE(transposed) << transposed.error().message;
  EXPECT_FALSE(transposed->nodes[0].outputs[0].contiguous);
}

struct BadCase {
  const char* name;
  std::string json;
  const char* says;
};

class ParseGraphRefusesTest : public testing::TestWithParam<BadCase> {};

TEST_P(ParseGraphRefusesTest, InASentence) {
  auto graph = ParseGraph(GetParam().json);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kInternal);
  EXPECT_THAT(graph.error().message, HasSubstr(GetParam().says));
}

std::string Nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, ParseGraphRefusesTest,
    testing::Values(
        BadCase{"Empty", "", "malformed"}, BadCase{"Truncated", R"({"nodes":[)", "malformed"},
        BadCase{"NoObject", "[]", "must be an object"},
        BadCase{"NoNodes", R"({"outputs":["x"]})", "\"nodes\" is missing"},
        BadCase{"NodesNoList", R"({"nodes":{},"outputs":["x"]})", "must be a list"},
        BadCase{"NoOutputs", R"({"nodes":[],"outputs":[]})", "returns no tensor"},
        BadCase{"OutputNoText", R"({"nodes":[],"outputs":[3]})", "must be text"},
        BadCase{"BadFlag", OneNode(R"(,"returns_list":1)"), "true or false"},
        BadCase{"BadKwargs", OneNode(R"(,"kwargs":[])"), "must be an object"},
        BadCase{"NegativeExtent",
                WithOutput(R"({"name":"n0","shape":[-1],"strides":[1],"dtype":"float32"})"),
                "negative"},
        BadCase{"Overflow",
                WithOutput(R"({"name":"n0","shape":[4294967296,4294967296],"strides":[1,1],)"
                           R"("dtype":"float32"})"),
                "larger than any memory"},
        BadCase{"TooLargeNumber",
                WithOutput(R"({"name":"n0","shape":[18446744073709551615],"strides":[1],)"
                           R"("dtype":"float32"})"),
                "does not fit"},
        BadCase{"UnknownType",
                WithOutput(R"({"name":"n0","shape":[1],"strides":[1],"dtype":"float31"})"),
                "unknown"},
        BadCase{"RankMismatch",
                WithOutput(R"({"name":"n0","shape":[1,2],"strides":[1],"dtype":"float32"})"),
                "differ in length"},
        BadCase{"FractionalExtent",
                WithOutput(R"({"name":"n0","shape":[1.5],"strides":[1],"dtype":"float32"})"),
                "must be an integer"},
        BadCase{"NameWithSpace",
                WithOutput(R"({"name":"n 0","shape":[],"strides":[],"dtype":"float32"})"),
                "no name may hold"},
        BadCase{"DeepNesting", WithArgs("[" + Nested(5000) + "]"), "nested too deeply"},
        BadCase{"StrangeObject", WithArgs(R"([{"tensor": "x"}])"), "an object must be"},
        BadCase{"StrangeFloat", WithArgs(R"([{"float": "1"}])"), "\"inf\""},
        BadCase{"UsesItself", WithArgs(R"([{"ref": "n0"}])"), "before it is computed"},
        BadCase{"TwoOfAName",
                R"({"nodes":[{"name":"a","op":"aten::f","overload":"","args":[],"outputs":[)"
                R"({"name":"a","shape":[],"strides":[],"dtype":"bool"},)"
                R"({"name":"a","shape":[],"strides":[],"dtype":"bool"}]}],"outputs":["a"]})",
                "two results"}),
    [](const auto& info) { return info.param.name; });

TEST(ParseGraphTest, SurvivesEveryTruncationAndEveryFlippedByte) {
  const std::string good = OneNode(R"(,"kwargs":{"dim":[1,{"float":"nan"}]})");
  ASSERT_TRUE(ParseGraph(good));
  int refused = 0;
  for (size_t cut = 0; cut < good.size(); ++cut) refused += !ParseGraph(good.substr(0, cut));
  EXPECT_EQ(refused, static_cast<int>(good.size()));
  for (size_t at = 0; at < good.size(); ++at) {
    for (char c : {'\0', '"', '{', '9', '\xff'}) {
      std::string bad = good;
      bad[at] = c;
      (void)ParseGraph(bad);  // must return, either way
    }
  }
}

TEST(GraphTensorsTest, FindsHiddenParametersByTheirPrefix) {
  ProblemInfo problem;
  TensorInfo input{"bias", {4}, {1}, "float32", 16, true};
  TensorInfo parameter{"bias", {8}, {1}, "float32", 32, true};
  problem.inputs = {input};
  problem.parameters = {parameter};
  auto tensors = TensorsOf({}, problem);
  EXPECT_EQ(tensors.at("bias").shape[0], 4);
  EXPECT_EQ(tensors.at("param:bias").shape[0], 8);
}

TEST(GraphTensorsTest, KnowsInPlaceOperatorsByTheirName) {
  Node node;
  for (const char* op : {"aten::relu_", "aten::add_", "aten::copy_"}) {
    node.op = op;
    EXPECT_TRUE(IsInPlace(node)) << op;
    EXPECT_TRUE(MayAlias(node)) << op;
  }
  for (const char* op : {"aten::relu", "aten::__and__", "aten::detach_"}) {
    node.op = op;
    EXPECT_FALSE(IsInPlace(node)) << op;
  }
}

}  // namespace
}  // namespace cudaagent::graph
