// Writes a candidate's plan: names, op steps, how results become outputs.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "rewrite/normal_graph.h"

namespace cudaagent::rewrite {

// References must outlive the writer.
class PlanWriter {
 public:
  PlanWriter(const NormalGraph& graph, const ProblemInfo& problem);

  // The plan's name of a tensor, without "$": results that are outputs are called outN.
  const std::string& Name(const std::string& ref) const { return names_.at(ref); }
  std::string Dollar(const std::string& ref) const { return "$" + Name(ref); }

  // The node as an op step.
  void AddOp(const graph::Node& node);
  void AddStep(nlohmann::ordered_json step) { steps_.push_back(std::move(step)); }
  // Scratch for a tensor without gaps; outputs need none. Returns the name of the buffer: the
  // tensor's own, or, where its dimensions lie in another order than the shape's, one that
  // AddView turns into the tensor once it is written.
  std::string AddBuffer(const std::string& ref);
  void AddView(const std::string& ref, const std::string& buffer);
  // Scratch of that many float32, an expression; returns its plan name, which begins like `name`.
  std::string AddScratch(const std::string& name, const std::string& elements);
  // An entry of "tune". The same name always comes with the same values.
  void Tune(const std::string& name, const std::vector<int64_t>& values);
  void Require(const std::string& expression) { require_.push_back(expression); }
  bool IsOutput(const std::string& ref) const { return bound_.count(ref) > 0; }

  // Copies every output that no step is. Then the leading comment with the plan.
  std::string Finish();

 private:
  void BindOutputs();
  void NameResults();
  void AddCopy(size_t output);
  // A name nothing has yet.
  std::string Unique(const std::string& wish);
  nlohmann::ordered_json TuneJson() const;

  const NormalGraph& graph_;
  const ProblemInfo& problem_;
  std::map<std::string, std::string> names_;  // ref -> plan name
  std::set<std::string> bound_;               // refs that are outputs
  std::vector<size_t> copied_;                // outputs that need a copy
  nlohmann::ordered_json steps_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json buffers_ = nlohmann::ordered_json::object();
  std::vector<std::string> require_;
  std::set<std::string> taken_;
  std::vector<std::pair<std::string, std::vector<int64_t>>> tune_;
};

// "x float32 [64, 1024]".
std::string Describe(const TensorInfo& info);
// The comment below a plan: what problem the candidate is for. Lines start with "//".
std::string DescribeProblem(const ProblemInfo& problem);
// Letters, digits and underscores only, not starting with a digit: "fc.weight" -> "fc_weight".
std::string Identifier(const std::string& text);

}  // namespace cudaagent::rewrite
