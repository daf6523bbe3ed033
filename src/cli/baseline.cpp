#include "cli/baseline.h"

#include "graph/graph.h"
#include "rewrite/init.h"

namespace cudaagent::cli {

Result<Candidate> InitCandidate(const ProblemInfo& problem) {
  if (problem.graph_json.empty()) {
    return Fail(ErrorCode::kEnvironment,
                "There is no baseline candidate: " + problem.export_error +
                    " (docs/candidate_format.md tells how to write one by hand.)");
  }
  auto graph = graph::ParseGraph(problem.graph_json);
  if (!graph) return tl::unexpected(graph.error());
  auto source = rewrite::WriteInitCandidate(*graph, problem);
  if (!source) return tl::unexpected(source.error());
  return Candidate{std::move(*source), "init", ""};
}

}  // namespace cudaagent::cli
