// The built-in proposer's rules: candidates from the exported graph, without a model or a network.
#pragma once

#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "graph/graph.h"

namespace cudaagent::rewrite {

struct RewriteOption {
  std::string candidate_text;  // a whole candidate file
  std::string note;            // one line: what it does, and how it differs from the others
};

// Candidates in order of promise, all different, at least one; the same graph gives the same list.
// Where no rule applies, one candidate equal to init's, and its note says so. Every node is either
// part of exactly one kernel or an op step as in init's candidate. kInternal where the graph does
// not fit the problem.
Result<std::vector<RewriteOption>> Propose(const graph::Graph& graph, const ProblemInfo& problem);

}  // namespace cudaagent::rewrite
