#include "report/problem_text.h"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "graph/graph.h"
#include "protocol/evaluation_json.h"
#include "util/text.h"

namespace cudaagent::report {
namespace {

std::string Shape(const TensorInfo& tensor) {
  std::string text;
  for (int64_t extent : tensor.shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  text = tensor.dtype + "[" + text + "]";
  return tensor.contiguous ? text : text + " strided";
}

std::string TensorRows(const char* title, const std::vector<TensorInfo>& tensors) {
  if (tensors.empty()) return "";
  std::string text = std::string(title) + "\n";
  for (const TensorInfo& tensor : tensors) {
    text += fmt::format("  {:<28} {:<36} {}\n", tensor.name, Shape(tensor),
                        util::FormatBytes(tensor.bytes));
  }
  return text;
}

std::string ValueText(const graph::Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return fmt::format("{:g}", d); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const graph::Ref& ref) const { return "%" + ref.name; }
    std::string operator()(const graph::ValueList& list) const {
      std::string text;
      for (const graph::Value& item : list) text += (text.empty() ? "" : ", ") + ValueText(item);
      return "[" + text + "]";
    }
  };
  return std::visit(Visitor{}, value.value);
}

std::string NodeRow(const graph::Node& node) {
  std::string results, arguments;
  for (const TensorInfo& output : node.outputs) {
    results += (results.empty() ? "" : ", ") + fmt::format("%{}: {}", output.name, Shape(output));
  }
  for (const graph::Value& argument : node.args) {
    arguments += (arguments.empty() ? "" : ", ") + ValueText(argument);
  }
  for (const auto& [name, value] : node.kwargs) {
    arguments += (arguments.empty() ? "" : ", ") + name + "=" + ValueText(value);
  }
  return fmt::format("  {} = {}.{}({})\n", results, node.op, node.overload, arguments);
}

}  // namespace

std::string ProblemText(const ProblemSpec& spec, const ProblemInfo& problem) {
  std::string text = fmt::format("{} ({}, {}{})\n", spec.path, spec.class_name, spec.dtype,
                                 spec.mode == Mode::kTrain ? ", train mode" : "");
  for (const auto& [name, value] : spec.consts) text += fmt::format("  {} = {}\n", name, value);
  text += TensorRows("inputs", problem.inputs);
  for (const ScalarInput& scalar : problem.scalars) {
    text += fmt::format("  {:<28} {}\n", scalar.name, scalar.value);
  }
  text += TensorRows("parameters and buffers", problem.parameters) +
          TensorRows("constants", problem.constants) + TensorRows("outputs", problem.outputs);
  if (!problem.statistics.empty()) {
    text += "updated by forward\n";
    for (const std::string& name : problem.statistics) text += "  " + name + "\n";
  }
  if (problem.graph_json.empty()) {
    return text + "graph\n  not exported: " + problem.export_error + "\n";
  }
  auto graph = graph::ParseGraph(problem.graph_json);
  if (!graph) return text + "graph\n  unreadable: " + graph.error().message + "\n";
  text += fmt::format("ATen graph ({} nodes)\n", graph->nodes.size());
  for (const graph::Node& node : graph->nodes) text += NodeRow(node);
  const graph::Work work = graph::EstimateWork(*graph, problem);
  text += fmt::format("work\n  {:.4g} FLOPs, at least {} read and {} written\n", work.flops,
                      util::FormatBytes(work.bytes_read), util::FormatBytes(work.bytes_written));
  return text;
}

nlohmann::json ProblemJson(const ProblemSpec& spec, const ProblemInfo& problem) {
  nlohmann::json json = protocol::ToJson(problem);
  json["schema"] = 1;
  json["spec"] = protocol::ToJson(spec);
  json["spec"].erase("source");
  if (problem.graph_json.empty()) return json;
  if (auto graph = graph::ParseGraph(problem.graph_json)) {
    const graph::Work work = graph::EstimateWork(*graph, problem);
    json["work"] = {{"flops", work.flops},
                    {"bytes_read", work.bytes_read},
                    {"bytes_written", work.bytes_written}};
  }
  return json;
}

}  // namespace cudaagent::report
