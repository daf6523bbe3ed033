// Writes small graphs by hand: a problem and its exported graph.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cudaagent/problem.h"
#include "graph/graph.h"

namespace cudaagent::test {

using Shape = std::vector<int64_t>;

inline TensorInfo MakeTensor(const std::string& name, Shape shape, std::string dtype = "float32") {
  TensorInfo info;
  info.name = name;
  info.shape = std::move(shape);
  info.dtype = std::move(dtype);
  info.strides.resize(info.shape.size());
  int64_t stride = 1;
  for (size_t d = info.shape.size(); d-- > 0;) {
    info.strides[d] = stride;
    stride *= info.shape[d];
  }
  info.bytes = info.numel() * (info.dtype == "float32" ? 4 : info.dtype == "bool" ? 1 : 2);
  return info;
}

inline graph::Value Ref(const std::string& name) { return {graph::Ref{name}}; }
inline graph::Value Int(int64_t number) { return {number}; }
inline graph::Value Real(double number) { return {number}; }
inline graph::Value Flag(bool flag) { return {flag}; }
inline graph::Value Text(const std::string& text) { return {text}; }
inline graph::Value None() { return {}; }
inline graph::Value Ints(const std::vector<int64_t>& numbers) {
  graph::ValueList list;
  for (int64_t number : numbers) list.push_back({number});
  return {list};
}

struct GraphMaker {
  ProblemInfo problem;
  graph::Graph graph;

  GraphMaker& Input(const std::string& name, const Shape& shape,
                    const std::string& dtype = "float32") {
    problem.inputs.push_back(MakeTensor(name, shape, dtype));
    return *this;
  }
  GraphMaker& Parameter(const std::string& name, const Shape& shape) {
    problem.parameters.push_back(MakeTensor(name, shape));
    return *this;
  }
  // `op` may carry its overload: "aten::add.Tensor".
  GraphMaker& Node(const std::string& name, const std::string& op, std::vector<graph::Value> args,
                   const Shape& shape, const std::string& dtype = "float32") {
    return NodeOf(name, op, std::move(args), {MakeTensor(name, shape, dtype)});
  }
  GraphMaker& NodeOf(const std::string& name, const std::string& op, std::vector<graph::Value> args,
                     std::vector<TensorInfo> outputs) {
    graph::Node node;
    node.name = name;
    const size_t dot = op.find('.');
    node.op = op.substr(0, dot);
    node.overload = dot == std::string::npos ? "default" : op.substr(dot + 1);
    node.args = std::move(args);
    node.outputs = std::move(outputs);
    graph.nodes.push_back(std::move(node));
    return *this;
  }
  // Outputs of the model: contiguous unless told otherwise.
  GraphMaker& Output(const std::string& ref, TensorInfo info) {
    info.name = "out" + std::to_string(problem.outputs.size());
    problem.outputs.push_back(std::move(info));
    graph.outputs.push_back(ref);
    return *this;
  }
  GraphMaker& Output(const std::string& ref, const Shape& shape,
                     const std::string& dtype = "float32") {
    return Output(ref, MakeTensor("", shape, dtype));
  }
};

}  // namespace cudaagent::test
