#include "cli/reproduce.h"

#include "bench/best_kernels.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "evaluate/evaluator.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"

namespace cudaagent::cli {
namespace {

constexpr double kMargin = 0.05;

const char* NameOf(bench::Reproduction what) {
  switch (what) {
    case bench::Reproduction::kConfirmed:
      return "confirmed";
    case bench::Reproduction::kRefuted:
      return "refuted";
    case bench::Reproduction::kNotComparable:
      return "not_comparable";
  }
  return "not_comparable";
}

int ExitCodeOf(bench::Reproduction what) {
  switch (what) {
    case bench::Reproduction::kConfirmed:
      return kExitOk;
    case bench::Reproduction::kRefuted:
      return kExitGate;
    case bench::Reproduction::kNotComparable:
      return kExitEnvironment;
  }
  return kExitEnvironment;
}

}  // namespace

int RunReproduce(const std::string& json_path, const EvalFlags& flags, const OutputFlags& output) {
  auto best = bench::ReadBest(json_path);
  if (!best) return Report(best.error(), output.json);
  evaluate::Config config = ToConfig(best->spec, flags, output);
  config.options = best->options;
  config.reward = best->reward;
  config.baseline = best->baseline;
  // New inputs, for they may matter; estimates are exact, so there the same ones.
  if (!best->evaluation.estimated) config.options.seed = 0;
  auto evaluator = evaluate::StartEvaluator(std::move(config));
  if (!evaluator) return Report(evaluator.error(), output.json);
  Candidate candidate;
  candidate.source = best->source;
  candidate.origin = best->origin;
  auto now = (*evaluator)->Evaluate(candidate);
  if (!now) return Report(now.error(), output.json);
  const bench::Verified verified = bench::Reproduce(best->evaluation, *now, kMargin);
  std::string words = NameOf(verified.what);
  if (verified.what == bench::Reproduction::kNotComparable) words = "not comparable";
  const nlohmann::json json = {{"schema", 1},
                               {"reproduction", NameOf(verified.what)},
                               {"message", verified.why},
                               {"recorded", protocol::ToJson(best->evaluation)},
                               {"evaluation", protocol::ToJson(*now)}};
  auto printed =
      Print(output.json ? protocol::ToText(json) + "\n"
                        : words + ": " + verified.why + "\n" + report::EvaluationText(*now));
  if (!printed) return Report(printed.error(), false);
  return ExitCodeOf(verified.what);
}

}  // namespace cudaagent::cli
