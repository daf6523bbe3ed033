// Reads {"problem": {...}, "graph": {...}}: a ProblemInfo and an exported graph, as tests keep
// them.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "cudaagent/problem.h"
#include "graph/graph.h"

namespace cudaagent::test {

struct LoadedProblem {
  ProblemInfo problem;
  graph::Graph graph;
};

inline std::vector<TensorInfo> LoadTensors(const nlohmann::json& list) {
  std::vector<TensorInfo> tensors;
  for (const auto& item : list) {
    TensorInfo info;
    info.name = item.at("name");
    info.shape = item.at("shape").get<std::vector<int64_t>>();
    info.strides = item.at("strides").get<std::vector<int64_t>>();
    info.dtype = item.at("dtype");
    info.bytes = item.value("bytes", int64_t{0});
    info.contiguous = item.value("contiguous", true);
    tensors.push_back(info);
  }
  return tensors;
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline LoadedProblem ParseProblem(const std::string& text) {
  auto document = nlohmann::json::parse(text);
  const auto& problem = document.at("problem");
  LoadedProblem loaded;
  loaded.problem.hash = problem.at("hash");
  loaded.problem.inputs = LoadTensors(problem.at("inputs"));
  loaded.problem.parameters = LoadTensors(problem.at("parameters"));
  loaded.problem.constants = LoadTensors(problem.at("constants"));
  loaded.problem.outputs = LoadTensors(problem.at("outputs"));
  loaded.problem.graph_json = document.at("graph").dump();
  auto graph = graph::ParseGraph(loaded.problem.graph_json);
  if (!graph) throw std::runtime_error(graph.error().message);
  loaded.graph = *graph;
  return loaded;
}

inline LoadedProblem LoadProblem(const std::string& path) { return ParseProblem(ReadText(path)); }

}  // namespace cudaagent::test
