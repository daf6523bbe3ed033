// cudaagent optimize --dry-run: the first question a model would get, asked of nobody.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/commands.h"
#include "cli/optimize.h"
#include "cli/signals.h"
#include "evaluate/evaluator.h"
#include "prompt/prompt.h"
#include "protocol/evaluation_json.h"

namespace cudaagent::cli {
namespace {

// It leaves nothing behind.
class NoStore : public Store {
 public:
  std::string folder() const override { return ""; }
  Result<void> SaveAttempt(const Attempt&, const Proposal*, bool) override { return {}; }
  Result<void> SaveConfirmation(const Attempt&, const Attempt*) override { return {}; }
};

}  // namespace

int RunDry(const OptimizeCommand& command) {
  const bool json = command.output.json;
  std::optional<prompt::Prompt> prompt;
  auto proposer =
      MakeDryProposer(command.proposer, [&prompt](const prompt::Prompt& shown) { prompt = shown; });
  if (!proposer) return Report(proposer.error(), json);
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), json);
  auto evaluator = evaluate::StartEvaluator(ToConfig(*spec, command.eval, command.output));
  if (!evaluator) return Report(evaluator.error(), json);
  search::Start start;
  if (auto candidate = InitCandidate((*evaluator)->problem())) start.init = std::move(*candidate);
  NoStore store;
  search::Limits limits;
  limits.attempts = 2;
  limits.confirm = false;
  const search::Outcome outcome =
      search::Refine(*spec, start, **evaluator, *proposer->proposer, store, limits,
                     Watch(command, proposer->builtin_first));
  if (outcome.error) return Report(*outcome.error, json);
  if (!prompt) return 128 + StopSignal();
  const std::string text = prompt->Text();
  const int64_t tokens = prompt::EstimateTokens(text);
  command.Say("the first prompt: " + std::to_string(text.size()) + " characters, about " +
              std::to_string(tokens) + " tokens");
  const nlohmann::json document = {{"schema", 1},
                                   {"system", prompt->system},
                                   {"user", prompt->user},
                                   {"characters", text.size()},
                                   {"estimated_tokens", tokens}};
  auto printed = Print(json ? protocol::ToText(document) + "\n" : text + "\n");
  return printed ? kExitOk : Report(printed.error(), false);
}

}  // namespace cudaagent::cli
