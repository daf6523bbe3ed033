// The baseline candidate: the problem's own ATen graph as a plan, without a kernel.
#pragma once

#include <string>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "graph/graph.h"

namespace cudaagent::rewrite {

// A complete candidate file. The same graph and problem always give the same text. kInternal where
// the graph does not fit the problem.
Result<std::string> WriteInitCandidate(const graph::Graph& graph, const ProblemInfo& problem);

}  // namespace cudaagent::rewrite
