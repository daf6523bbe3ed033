#include "rewrite/conv_bias.h"

#include <set>

namespace cudaagent::rewrite {
namespace {

using graph::Node;
using graph::Ref;
using graph::Value;

bool IsConvolution(const Node& node) {
  static const std::set<std::string> kConvolutions = {
      "aten::conv1d",           "aten::conv2d",           "aten::conv3d",
      "aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"};
  return kConvolutions.count(node.op) > 0;
}

// Batched results only: [N, C, ...].
bool HasBias(const Node& node, const NormalGraph& graph) {
  if (node.args.size() < 3 || AsRef(node.args[2]) == nullptr || node.outputs.size() != 1) {
    return false;
  }
  const size_t spatial = static_cast<size_t>(node.op.substr(0, node.op.size() - 1).back() - '0');
  const TensorInfo& bias = graph.tensors.at(AsRef(node.args[2])->name);
  const TensorInfo& output = node.outputs[0];
  return output.shape.size() == spatial + 2 && bias.shape.size() == 1 &&
         bias.shape[0] == output.shape[1];
}

}  // namespace

void SplitConvBiases(NormalGraph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    if (!IsConvolution(node) || !HasBias(node, graph)) {
      nodes.push_back(std::move(node));
      continue;
    }
    Node bias;
    bias.name = node.name;
    bias.op = kAddChannelBias;
    bias.overload = "default";
    TensorInfo plain = node.outputs[0];
    bias.outputs = {plain};
    plain.name += "_without_bias";
    while (graph.tensors.count(plain.name)) plain.name += "_";
    bias.args = {{Ref{plain.name}}, node.args[2]};
    node.args[2] = Value{};
    node.name = plain.name;
    node.outputs = {plain};
    graph.tensors[plain.name] = plain;
    graph.results.insert(plain.name);
    nodes.push_back(std::move(node));
    nodes.push_back(std::move(bias));
  }
  graph.nodes = std::move(nodes);
}

bool RejoinConvBiases(NormalGraph& graph, const Partition& partition) {
  std::set<size_t> alone;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op == kAddChannelBias) alone.insert(n);
  }
  for (const Region& region : partition.regions) {
    size_t others = 0;
    for (size_t n : region.nodes) others += graph.nodes[n].op != kAddChannelBias;
    if (others == 0) continue;
    for (size_t n : region.nodes) alone.erase(n);
  }
  if (alone.empty()) return false;
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (!alone.count(n)) {
      nodes.push_back(std::move(node));
      continue;
    }
    const std::string source = AsRef(node.args[0])->name;
    for (Node& convolution : nodes) {
      if (convolution.outputs.size() != 1 || convolution.outputs[0].name != source) continue;
      convolution.args[2] = node.args[1];
      convolution.outputs = node.outputs;
      convolution.name = node.name;
    }
    graph.tensors.erase(source);
    graph.results.erase(source);
  }
  graph.nodes = std::move(nodes);
  return true;
}

}  // namespace cudaagent::rewrite
