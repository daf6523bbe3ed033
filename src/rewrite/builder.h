// Turns a set of graph nodes into the program of one kernel, or says that it cannot.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewrite/normal_graph.h"
#include "rewrite/program.h"

namespace cudaagent::rewrite {

// Who makes and who reads each tensor of a graph.
struct GraphLinks {
  explicit GraphLinks(const NormalGraph& graph);
  std::map<std::string, size_t> producer;              // ref -> node
  std::map<std::string, std::vector<size_t>> readers;  // ref -> nodes, each once
  std::set<std::string> outputs;                       // refs the model returns
};

// Thrown while building, never out of BuildProgram: this node set is no single kernel.
struct NotFusible {};

// Used by the operator tables (pointwise_ops.cpp, row_ops.cpp).
class Builder {
 public:
  Builder(const NormalGraph& graph, const GraphLinks& links, const std::set<size_t>& nodes)
      : graph_(graph), links_(links), nodes_(nodes) {}
  Program Build();

  // The value of a tensor at these coordinates: computed where its node is in the set, else loaded.
  int Value(const std::string& ref, const Coordinates& coordinates, bool outer);

  int Literal(double number);
  int Compute(const std::string& name, const std::string& pattern, std::vector<int> operands,
              ValueType type = ValueType::kFloat);
  int Reduce(const std::string& name, ReduceKind kind, int operand);
  int Field(const std::string& name, int reduction, const std::string& field,
            ValueType type = ValueType::kFloat);
  // The running sum (operation Plus) or product (Times) of the operand along its row.
  int Scan(const std::string& name, const std::string& operation, int operand);
  // An element of a tensor that no node of the set makes: at the coordinates of all its dimensions
  // but `dim`, and at `index` (an integer value) in that one.
  int LoadAt(const std::string& ref, size_t dim, int index, const Coordinates& others, bool outer);
  // `value` as a float: a bool becomes 0 or 1, an integer is rounded.
  int AsFloat(int value);

  const ProgramValue& At(int value) const { return program_.values.at(static_cast<size_t>(value)); }
  const TensorInfo& Info(const std::string& ref) const { return graph_.tensors.at(ref); }
  // Whether anything reads the tensor.
  bool IsUsed(const std::string& ref) const {
    return links_.outputs.count(ref) > 0 || links_.readers.count(ref) > 0;
  }
  const Program& program() const { return program_; }

 private:
  void ChooseSpace();
  int Make(const graph::Node& node, const std::string& ref, const Coordinates& coordinates,
           bool outer);
  int Load(const std::string& ref, const Coordinates& coordinates, bool outer);
  int Push(ProgramValue value);

  const NormalGraph& graph_;
  const GraphLinks& links_;
  const std::set<size_t>& nodes_;
  Program program_;
  std::map<std::string, int> made_;  // ref and coordinates -> value
};

// std::nullopt where the nodes cannot be one kernel: an operator without a rule, a type other than
// float32, float16, bfloat16, bool or integer, layouts or reductions that do not fit together, or a
// shape for which the templates would be slower than ATen (a reduction with few results).
std::optional<Program> BuildProgram(const NormalGraph& graph, const GraphLinks& links,
                                    const std::set<size_t>& nodes);

}  // namespace cudaagent::rewrite
