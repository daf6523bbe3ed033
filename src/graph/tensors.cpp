#include <set>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

void Collect(const Value& value, std::vector<std::string>& names) {
  if (const auto* ref = std::get_if<Ref>(&value.value)) {
    names.push_back(ref->name);
  } else if (const auto* list = std::get_if<ValueList>(&value.value)) {
    for (const Value& item : *list) Collect(item, names);
  }
}

}  // namespace

std::vector<std::string> RefsOf(const Node& node) {
  std::vector<std::string> names;
  for (const Value& arg : node.args) Collect(arg, names);
  for (const auto& [key, arg] : node.kwargs) Collect(arg, names);
  return names;
}

std::map<std::string, TensorInfo> TensorsOf(const Graph& graph, const ProblemInfo& problem) {
  std::map<std::string, TensorInfo> tensors;
  for (const TensorInfo& info : problem.constants) tensors[info.name] = info;
  for (const TensorInfo& info : problem.parameters) {
    tensors[info.name] = info;
    tensors["param:" + info.name] = info;
  }
  for (const TensorInfo& info : problem.inputs) tensors[info.name] = info;
  for (const Node& node : graph.nodes) {
    for (const TensorInfo& info : node.outputs) tensors[info.name] = info;
  }
  return tensors;
}

bool MayAlias(const Node& node) {
  static const std::set<std::string> kViews = {"aten::view",
                                               "aten::reshape",
                                               "aten::flatten",
                                               "aten::unflatten",
                                               "aten::select",
                                               "aten::slice",
                                               "aten::narrow",
                                               "aten::transpose",
                                               "aten::t",
                                               "aten::numpy_T",
                                               "aten::permute",
                                               "aten::movedim",
                                               "aten::swapaxes",
                                               "aten::unsqueeze",
                                               "aten::squeeze",
                                               "aten::expand",
                                               "aten::expand_as",
                                               "aten::view_as",
                                               "aten::reshape_as",
                                               "aten::split",
                                               "aten::split_with_sizes",
                                               "aten::chunk",
                                               "aten::unbind",
                                               "aten::detach",
                                               "aten::detach_",
                                               "aten::alias",
                                               "aten::unfold",
                                               "aten::contiguous",
                                               "aten::to",
                                               "aten::as_strided",
                                               "aten::diagonal",
                                               "aten::broadcast_tensors",
                                               "aten::broadcast_to",
                                               "aten::dropout",
                                               "aten::feature_dropout",
                                               "aten::alpha_dropout",
                                               "aten::lift_fresh_copy",
                                               "aten::lift_fresh",
                                               "aten::type_as",
                                               "aten::tensor_split",
                                               "aten::mT",
                                               "aten::mH",
                                               "aten::adjoint",
                                               "aten::ravel",
                                               "aten::atleast_1d",
                                               "aten::atleast_2d",
                                               "aten::hsplit",
                                               "aten::vsplit",
                                               "aten::_to_copy",
                                               "aten::moveaxis",
                                               "aten::swapdims",
                                               "aten::pad",
                                               "aten::real",
                                               "aten::view_as_real",
                                               "aten::view_as_complex",
                                               "aten::resolve_conj"};
  return kViews.count(node.op) > 0 || IsInPlace(node);
}

bool IsInPlace(const Node& node) {
  if (node.op.size() < 2 || node.op.back() != '_') return false;
  // "__and__" and its like are ordinary operators.
  return node.op[node.op.size() - 2] != '_' && node.op != "aten::detach_";
}

}  // namespace cudaagent::graph
