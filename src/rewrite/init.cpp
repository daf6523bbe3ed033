#include "rewrite/init.h"

#include "rewrite/normal_graph.h"
#include "rewrite/plan_writer.h"

namespace cudaagent::rewrite {

Result<std::string> WriteInitCandidate(const graph::Graph& graph, const ProblemInfo& problem) {
  Result<NormalGraph> normal = Normalize(graph, problem);
  if (!normal) return tl::unexpected(normal.error());
  PlanWriter writer(*normal, problem);
  for (const graph::Node& node : normal->nodes) writer.AddOp(node);
  return writer.Finish() +
         "// The baseline: PyTorch's own operators, no kernel of its own. Replace steps by "
         "kernels.\n" +
         DescribeProblem(problem);
}

}  // namespace cudaagent::rewrite
