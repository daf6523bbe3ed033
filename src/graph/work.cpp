#include <algorithm>
#include <set>
#include <string>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

using Tensors = std::map<std::string, TensorInfo>;

const TensorInfo* TensorArg(const Node& node, size_t index, const Tensors& tensors) {
  if (index >= node.args.size()) return nullptr;
  const auto* ref = std::get_if<Ref>(&node.args[index].value);
  if (ref == nullptr) return nullptr;
  auto it = tensors.find(ref->name);
  return it == tensors.end() ? nullptr : &it->second;
}

double Product(const std::vector<int64_t>& extents, size_t from) {
  double product = 1;
  for (size_t i = from; i < extents.size(); ++i) product *= static_cast<double>(extents[i]);
  return product;
}

double Elements(const TensorInfo& info) { return Product(info.shape, 0); }

double OutputElements(const Node& node) {
  return node.outputs.empty() ? 0 : Elements(node.outputs[0]);
}

bool StartsWith(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// 2 * output elements * length of the contracted dimension, taken as the last of the left operand.
double ProductFlops(const Node& node, size_t left, const Tensors& tensors) {
  const TensorInfo* a = TensorArg(node, left, tensors);
  if (a == nullptr || a->shape.empty()) return 0;
  return 2 * OutputElements(node) * static_cast<double>(a->shape.back());
}

// Every label of the equation once: the loop nest of a naive einsum.
double EinsumFlops(const Node& node, const Tensors& tensors) {
  if (node.args.size() < 2) return 0;
  const auto* equation = std::get_if<std::string>(&node.args[0].value);
  const auto* operands = std::get_if<ValueList>(&node.args[1].value);
  if (equation == nullptr || operands == nullptr) return 0;
  std::map<char, double> extents;
  size_t at = 0;
  for (const Value& operand : *operands) {
    const auto* ref = std::get_if<Ref>(&operand.value);
    auto it = ref == nullptr ? tensors.end() : tensors.find(ref->name);
    size_t dim = 0;
    for (; at < equation->size() && (*equation)[at] != ',' && (*equation)[at] != '-'; ++at) {
      if ((*equation)[at] < 'A') continue;
      if (it == tensors.end() || dim >= it->second.shape.size()) return 0;
      extents[(*equation)[at]] = static_cast<double>(it->second.shape[dim++]);
    }
    ++at;
  }
  double loops = 1;
  for (const auto& [label, extent] : extents) loops *= extent;
  return loops * static_cast<double>(std::max<size_t>(operands->size(), 1));
}

// Each weight matrix of a recurrent layer meets every time step of every sequence once.
double RecurrentFlops(const Node& node, const Tensors& tensors) {
  const TensorInfo* input = TensorArg(node, 0, tensors);
  if (input == nullptr || input->shape.size() < 2) return 0;
  double positions = Product(input->shape, 0) / std::max<double>(1, double(input->shape.back()));
  double flops = 0;
  for (const std::string& name : RefsOf(node)) {
    auto it = tensors.find(name);
    if (it == tensors.end() || &it->second == input || it->second.shape.size() != 2) continue;
    flops += 2 * Elements(it->second) * positions;
  }
  return flops;
}

double WindowElements(const Node& node) {
  if (node.args.size() < 2) return 1;
  const auto* window = std::get_if<ValueList>(&node.args[1].value);
  if (window == nullptr || window->empty()) return 1;
  double elements = 1;
  for (const Value& extent : *window) {
    if (const auto* n = std::get_if<int64_t>(&extent.value)) elements *= static_cast<double>(*n);
  }
  return std::max(elements, 1.0);
}

// Operations per element of the first tensor argument, for operators that reduce or normalise.
double PerInputElement(const std::string& op) {
  static const std::map<std::string, double> kCosts = {{"sum", 1},
                                                       {"mean", 1},
                                                       {"amax", 1},
                                                       {"amin", 1},
                                                       {"max", 1},
                                                       {"min", 1},
                                                       {"argmax", 1},
                                                       {"argmin", 1},
                                                       {"prod", 1},
                                                       {"cumsum", 1},
                                                       {"cumprod", 1},
                                                       {"var", 3},
                                                       {"std", 3},
                                                       {"softmax", 4},
                                                       {"logsumexp", 3},
                                                       {"log_softmax", 4},
                                                       {"layer_norm", 6},
                                                       {"group_norm", 6},
                                                       {"instance_norm", 6},
                                                       {"rms_norm", 4},
                                                       {"linalg_vector_norm", 2},
                                                       {"norm", 2},
                                                       {"cross_entropy_loss", 4},
                                                       {"kl_div", 4},
                                                       {"smooth_l1_loss", 4},
                                                       {"mse_loss", 3},
                                                       {"triplet_margin_loss", 6},
                                                       {"adaptive_avg_pool1d", 1},
                                                       {"adaptive_avg_pool2d", 1},
                                                       {"adaptive_avg_pool3d", 1},
                                                       {"batch_norm", 2}};
  auto it = kCosts.find(op);
  return it == kCosts.end() ? 0 : it->second;
}

double Flops(const Node& node, const Tensors& tensors) {
  std::string op = StartsWith(node.op, "aten::") ? node.op.substr(6) : node.op;
  if (op == "matmul" || op == "mm" || op == "bmm" || op == "mv" || op == "dot") {
    return ProductFlops(node, 0, tensors);
  }
  if (op == "linear") {
    bool bias = TensorArg(node, 2, tensors) != nullptr;
    return ProductFlops(node, 0, tensors) + (bias ? OutputElements(node) : 0);
  }
  if (op == "addmm" || op == "baddbmm" || op == "addbmm" || op == "addmv") {
    return ProductFlops(node, 1, tensors) + OutputElements(node);
  }
  if (op == "einsum") return EinsumFlops(node, tensors);
  if (op == "lstm" || op == "gru" || op == "rnn_tanh" || op == "rnn_relu") {
    return RecurrentFlops(node, tensors);
  }
  if (StartsWith(op, "conv") || op == "cudnn_convolution") {
    const TensorInfo* input = TensorArg(node, 0, tensors);
    const TensorInfo* weight = TensorArg(node, 1, tensors);
    if (input == nullptr || weight == nullptr || weight->shape.size() < 2) return 0;
    double bias = TensorArg(node, 2, tensors) != nullptr ? OutputElements(node) : 0;
    // Transposed: every input element meets weight[channel]; else every output element does.
    double base = StartsWith(op, "conv_transpose") ? Elements(*input) : OutputElements(node);
    return 2 * base * Product(weight->shape, 1) + bias;
  }
  if (op == "scaled_dot_product_attention" || StartsWith(op, "_scaled_dot_product")) {
    const TensorInfo* query = TensorArg(node, 0, tensors);
    const TensorInfo* key = TensorArg(node, 1, tensors);
    if (query == nullptr || key == nullptr || key->shape.size() < 2) return 0;
    return 4 * Elements(*query) * static_cast<double>(key->shape[key->shape.size() - 2]);
  }
  if (op.find("_pool") != std::string::npos && !StartsWith(op, "adaptive")) {
    return OutputElements(node) * WindowElements(node);
  }
  if (double cost = PerInputElement(op); cost > 0) {
    const TensorInfo* input = TensorArg(node, 0, tensors);
    return input == nullptr ? 0 : cost * Elements(*input);
  }
  static const std::set<std::string> kMoves = {"cat",
                                               "stack",
                                               "clone",
                                               "copy_",
                                               "flip",
                                               "roll",
                                               "zeros",
                                               "ones",
                                               "full",
                                               "zeros_like",
                                               "index",
                                               "ones_like",
                                               "full_like",
                                               "gather",
                                               "arange",
                                               "embedding",
                                               "_assert_tensor_metadata"};
  if (kMoves.count(op) || (MayAlias(node) && !IsInPlace(node))) return 0;
  return OutputElements(node);
}

}  // namespace

Work EstimateNode(const Node& node, const Tensors& tensors) {
  Work work;
  work.flops = Flops(node, tensors);
  if (MayAlias(node) && !IsInPlace(node)) {
    // A view moves nothing; a copy made for its sake has other strides than its source.
    bool copies = node.op == "aten::contiguous" || node.op == "aten::to" ||
                  node.op == "aten::_to_copy" || node.op == "aten::reshape" ||
                  node.op == "aten::pad";
    const TensorInfo* input = TensorArg(node, 0, tensors);
    bool same = input != nullptr && node.outputs.size() == 1 &&
                input->dtype == node.outputs[0].dtype && input->contiguous &&
                input->bytes == node.outputs[0].bytes;
    if (!copies || same) return work;
  }
  std::set<std::string> seen;
  for (const std::string& name : RefsOf(node)) {
    auto it = tensors.find(name);
    if (it != tensors.end() && seen.insert(name).second) work.bytes_read += it->second.bytes;
  }
  for (const TensorInfo& output : node.outputs) work.bytes_written += output.bytes;
  return work;
}

Work EstimateWork(const Graph& graph, const ProblemInfo& problem) {
  Work work;
  Tensors tensors = TensorsOf(graph, problem);
  std::set<std::string> results;
  for (const Node& node : graph.nodes) {
    for (const TensorInfo& info : node.outputs) results.insert(info.name);
  }
  std::set<std::string> read;
  for (const Node& node : graph.nodes) {
    work.flops += Flops(node, tensors);
    for (const std::string& name : RefsOf(node)) {
      if (!results.count(name) && read.insert(name).second) {
        auto it = tensors.find(name);
        if (it != tensors.end()) work.bytes_read += it->second.bytes;
      }
    }
  }
  for (const TensorInfo& output : problem.outputs) work.bytes_written += output.bytes;
  return work;
}

}  // namespace cudaagent::graph
