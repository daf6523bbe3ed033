#include <array>
#include <set>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

// Operators whose result depends on every element of their tensor arguments.
constexpr std::array<std::string_view, 47> kReadsAll = {"aten::relu",
                                                        "aten::gelu",
                                                        "aten::sigmoid",
                                                        "aten::tanh",
                                                        "aten::exp",
                                                        "aten::log",
                                                        "aten::abs",
                                                        "aten::neg",
                                                        "aten::sqrt",
                                                        "aten::rsqrt",
                                                        "aten::square",
                                                        "aten::silu",
                                                        "aten::mish",
                                                        "aten::softplus",
                                                        "aten::elu",
                                                        "aten::selu",
                                                        "aten::leaky_relu",
                                                        "aten::hardtanh",
                                                        "aten::hardswish",
                                                        "aten::hardsigmoid",
                                                        "aten::relu6",
                                                        "aten::softmax",
                                                        "aten::_softmax",
                                                        "aten::log_softmax",
                                                        "aten::_log_softmax",
                                                        "aten::add",
                                                        "aten::sub",
                                                        "aten::layer_norm",
                                                        "aten::group_norm",
                                                        "aten::batch_norm",
                                                        "aten::instance_norm",
                                                        "aten::rms_norm",
                                                        "aten::sum",
                                                        "aten::mean",
                                                        "aten::amax",
                                                        "aten::amin",
                                                        "aten::max",
                                                        "aten::min",
                                                        "aten::argmax",
                                                        "aten::argmin",
                                                        "aten::var",
                                                        "aten::std",
                                                        "aten::linalg_vector_norm",
                                                        "aten::norm",
                                                        "aten::cumsum",
                                                        "aten::mse_loss",
                                                        "aten::logsumexp"};

// Operators that hand all elements on.
constexpr std::array<std::string_view, 9> kPassesAll = {
    "aten::view",      "aten::reshape", "aten::permute", "aten::transpose", "aten::t",
    "aten::unsqueeze", "aten::squeeze", "aten::flatten", "aten::contiguous"};

template <size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, std::string_view op) {
  for (std::string_view name : names) {
    if (name == op) return true;
  }
  return false;
}

}  // namespace

int64_t UnavoidableBytes(const Graph& graph, const ProblemInfo& problem) {
  std::map<std::string, std::string> whole;  // tensor -> the input it is all of
  for (const TensorInfo& input : problem.inputs) whole[input.name] = input.name;
  std::set<std::string> read;
  for (const Node& node : graph.nodes) {
    for (const std::string& name : RefsOf(node)) {
      const auto source = whole.find(name);
      if (source == whole.end()) continue;
      if (IsOneOf(kReadsAll, node.op)) read.insert(source->second);
      if (IsOneOf(kPassesAll, node.op) && !node.outputs.empty()) {
        whole[node.outputs.front().name] = source->second;
      }
    }
  }
  int64_t bytes = 0;
  for (const TensorInfo& input : problem.inputs)
    bytes += read.contains(input.name) ? input.bytes : 0;
  for (const TensorInfo& output : problem.outputs) bytes += output.bytes;
  return bytes;
}

}  // namespace cudaagent::graph
