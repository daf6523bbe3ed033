// The exported ATen graph of a problem as data, read from the JSON that
// python/cudaagent_reference writes. Driver and worker share it; neither needs torch for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::graph {

struct Value;
using ValueList = std::vector<Value>;
// "%name": the result of an earlier node or an input, parameter or constant of the problem.
struct Ref {
  std::string name;
};
// An argument of a node. Strings are dtypes ("float32"), layouts, memory formats and modes.
struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, Ref, ValueList> value;
};

struct Node {
  std::string name;      // unique; single result, or the prefix of getitem'ed ones
  std::string op;        // "aten::linear"
  std::string overload;  // "default", "Tensor", ...
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> kwargs;
  std::vector<TensorInfo> outputs;  // names usable in Ref; one for most ops
  bool returns_list = false;
};

struct Graph {
  std::vector<Node> nodes;           // in order of execution
  std::vector<std::string> outputs;  // names of what the model returns, in order
};

// JSON form:
// {"nodes":[{"name":"n0","op":"aten::linear","overload":"default","args":[{"ref":"x"},...],
//   "kwargs":{"dim":1},"outputs":[{"name":"n0","shape":[..],"strides":[..],"dtype":"float32"}],
//   "returns_list":false}],"outputs":["n0"]}
// Values: null, true, 3, 3.5, "float32", {"ref":"name"}, {"float":"inf"|"-inf"|"nan"}, [..].
// A parameter hidden by an input of the same name is {"ref":"param:name"}.
// The text is treated as hostile: wrong types, duplicate or dangling names (a node may refer to
// anything of the problem, but among nodes only to earlier ones), negative or overflowing sizes,
// deep nesting and absurd lengths are kInternal errors that name the node.
Result<Graph> ParseGraph(std::string_view json);

// Every tensor a Ref of the graph may name: the problem's and every node's outputs. A node's result
// hides a tensor of the problem of the same name.
std::map<std::string, TensorInfo> TensorsOf(const Graph& graph, const ProblemInfo& problem);

// Names of the tensors a node reads, in order of its arguments, with repetitions.
std::vector<std::string> RefsOf(const Node& node);

// Whether a result of the node may share storage with its first tensor argument (views, and
// operators like reshape, contiguous and to that copy only where they must).
bool MayAlias(const Node& node);
// Whether the operator changes its first argument in place ("aten::relu_").
bool IsInPlace(const Node& node);

// Floating-point operations and unavoidable bytes (each problem input, parameter and constant that
// is used read once, each output written once).
struct Work {
  double flops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};
Work EstimateWork(const Graph& graph, const ProblemInfo& problem);
// Work of one node by itself: its tensor arguments read once, its outputs written once.
Work EstimateNode(const Node& node, const std::map<std::string, TensorInfo>& tensors);

// Bytes that every right implementation moves, whatever its algorithm: each output written once,
// and each input read once whose operator looks at all of it and whose elements can be anything.
// Left out: parameters (a kernel may be specialised for them), inputs of products, convolutions,
// pools and gathers (their structure or stride may leave parts unread), and whatever is sliced
// first.
int64_t UnavoidableBytes(const Graph& graph, const ProblemInfo& problem);

}  // namespace cudaagent::graph
