#include <algorithm>
#include <vector>

#include "graph/graph.h"
#include "propose/proposers.h"
#include "rewrite/propose.h"
#include "util/log.h"

namespace cudaagent::propose {
namespace {

class BuiltinProposer : public Proposer {
 public:
  std::string name() const override { return "builtin"; }

  Result<std::optional<Proposal>> Propose(const ProposalContext& context) override {
    if (context.problem.graph_json.empty()) {
      util::LogWarn(
          "The built-in proposer has nothing to work on: the model could not be exported (" +
          context.problem.export_error + ").");
      return std::nullopt;
    }
    if (auto ready = Prepare(context.problem); !ready) return tl::unexpected(ready.error());
    while (next_ < options_.size()) {
      rewrite::RewriteOption& option = options_[next_++];
      if (WasTried(option.candidate_text, context.history)) continue;
      Proposal proposal;
      proposal.candidate.source = option.candidate_text;
      proposal.candidate.origin = name();
      proposal.candidate.note = option.note;
      proposal.answer = option.candidate_text;
      return proposal;
    }
    return std::nullopt;
  }

 private:
  Result<void> Prepare(const ProblemInfo& problem) {
    if (prepared_for_ == problem.graph_json) return {};
    auto graph = graph::ParseGraph(problem.graph_json);
    if (!graph) return tl::unexpected(graph.error());
    auto options = rewrite::Propose(*graph, problem);
    if (!options) return tl::unexpected(options.error());
    options_ = std::move(*options);
    next_ = 0;
    prepared_for_ = problem.graph_json;
    return {};
  }

  static bool WasTried(const std::string& source, const std::vector<Attempt>& history) {
    return std::any_of(history.begin(), history.end(),
                       [&](const Attempt& attempt) { return attempt.candidate.source == source; });
  }

  std::string prepared_for_;
  std::vector<rewrite::RewriteOption> options_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Proposer> MakeBuiltinProposer() { return std::make_unique<BuiltinProposer>(); }

}  // namespace cudaagent::propose
