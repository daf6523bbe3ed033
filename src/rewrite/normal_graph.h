// The exported graph without its bookkeeping: what init writes and the rules read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "graph/graph.h"

namespace cudaagent::rewrite {

// Every node computes something an output needs. Aliases (detach, eval-mode dropout, contiguous of
// a contiguous tensor, ...) are gone and their uses renamed. In-place operators are replaced by
// their functional form ("relu_" by "relu"), which no input or parameter can be harmed by.
// Where a view of a tensor is changed in place and the tensor is read again, the functional form
// would be wrong: then the graph keeps its in-place operators, `in_place` is true, and a changed
// tensor of the problem is cloned by the first nodes.
struct NormalGraph {
  std::vector<graph::Node> nodes;
  std::vector<std::string> outputs;
  std::map<std::string, TensorInfo> tensors;  // the problem's and every node's, by ref
  std::set<std::string> results;  // refs computed by nodes; all others are the problem's
  bool in_place = false;
};

// kInternal where a node names a tensor that neither the problem nor an earlier node has.
Result<NormalGraph> Normalize(const graph::Graph& graph, const ProblemInfo& problem);

// The refs whose storage each ref may share, itself included: one representative per storage.
// A problem tensor is the representative of all its views.
std::map<std::string, std::string> StorageRoots(const NormalGraph& graph);

const graph::Ref* AsRef(const graph::Value& value);

}  // namespace cudaagent::rewrite
