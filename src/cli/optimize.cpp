// cudaagent optimize MODEL.py: the loop.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "cli/flags.h"
#include "cli/proposers.h"
#include "cli/signals.h"
#include "evaluate/evaluator.h"
#include "prompt/feedback.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"
#include "reward/reward.h"
#include "search/refine.h"
#include "store/run_folder.h"

namespace cudaagent::cli {
namespace {

struct OptimizeCommand {
  std::vector<std::string> argv;
  ProblemFlags problem;
  EvalFlags eval;
  ProposerFlags proposer;
  OutputFlags output;
  search::Limits limits;
  double target_speedup = 0;  // 0 = none
  std::string max_time;
  std::string out;
  bool no_tune = false;

  void Say(const std::string& line) const {
    if (!output.quiet) std::fprintf(stderr, "%s\n", line.c_str());
  }
};

search::Observer Watch(const OptimizeCommand& command) {
  search::Observer observer;
  observer.on_propose = [&command](int number, const std::string& proposer) {
    command.Say("attempt " + std::to_string(number) + ": asking " + proposer);
  };
  observer.on_attempt = [&command](const Attempt& attempt, bool new_best) {
    command.Say(report::AttemptLine(attempt, new_best));
  };
  observer.feedback = [](const Attempt& attempt) { return prompt::Feedback(attempt.evaluation); };
  observer.stop_requested = [] { return StopSignal() != 0; };
  return observer;
}

nlohmann::json SummaryJson(const search::Outcome& outcome, const std::string& folder) {
  nlohmann::json attempts = nlohmann::json::array();
  for (const Attempt& attempt : outcome.attempts) {
    nlohmann::json row = {{"attempt", attempt.number},
                          {"origin", attempt.candidate.origin},
                          {"verdict", std::string(ToString(attempt.evaluation.verdict))}};
    if (attempt.evaluation.candidate) row["median_ms"] = attempt.evaluation.candidate->median_ms;
    if (attempt.evaluation.reward) row["reward"] = *attempt.evaluation.reward;
    attempts.push_back(std::move(row));
  }
  nlohmann::json json = {{"schema", 1},
                         {"folder", folder},
                         {"stopped", search::ToString(outcome.reason)},
                         {"attempts", std::move(attempts)}};
  if (outcome.error) json["error"] = {{"message", outcome.error->message}};
  if (outcome.best >= 0) {
    json["best"] = {{"attempt", outcome.best},
                    {"kernel", folder + "/best/kernel.cu"},
                    {"evaluation", protocol::ToJson(outcome.attempts[outcome.best].evaluation)}};
  }
  return json;
}

std::string SummaryText(const search::Outcome& outcome, const std::string& folder) {
  std::string text = std::to_string(outcome.attempts.size()) + " attempts; stopped: " +
                     (outcome.error ? "by an error" : search::ToString(outcome.reason)) + "\n";
  if (outcome.best < 0) return text + "no correct candidate; every attempt is in " + folder + "/attempts\n";
  const Attempt& best = outcome.attempts[outcome.best];
  text += "best kernel: " + folder + "/best/kernel.cu (attempt " + std::to_string(best.number) + ", " +
          best.candidate.origin + ")\n";
  return text + report::EvaluationText(best.evaluation);
}

int ExitCodeOfOutcome(const OptimizeCommand& command, const search::Outcome& outcome) {
  if (outcome.error) return ExitCodeOf(outcome.error->code);
  if (outcome.reason == search::StopReason::kInterrupted) return 128 + StopSignal();
  if (outcome.best < 0) return kExitNoCorrectCandidate;
  const bool missed = command.limits.target_speedup && outcome.reason != search::StopReason::kTarget;
  return missed ? kExitBudget : kExitOk;
}

int RunOptimize(OptimizeCommand& command) {
  const bool json = command.output.json;
  if (command.target_speedup > 0) command.limits.target_speedup = command.target_speedup;
  if (!command.max_time.empty()) {
    auto seconds = ParseDuration(command.max_time);
    if (!seconds) return Report(seconds.error(), json);
    command.limits.max_seconds = *seconds;
  }
  // First of all: it takes the key out of the environment.
  auto proposer = MakeProposer(command.proposer);
  if (!proposer) return Report(proposer.error(), json);
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), json);

  store::RunDescription description;
  description.spec = *spec;
  description.arguments = command.argv;
  description.recheck = RecheckCommand(*spec, command.problem, command.eval);
  description.proposer = proposer->proposer->name();
  description.version = Version();
  auto run = store::RunFolder::Create(command.out, description);
  if (!run) return Report(run.error(), json);
  const std::string folder = (*run)->folder();
  command.Say("run folder: " + folder);
  command.Say("proposer: " + proposer->why);

  auto config = ToConfig(*spec, command.eval, command.output);
  config.log_dir = folder + "/logs";
  if (!command.no_tune) config.tune.mode = evaluate::TuneMode::kAlways;
  auto evaluator = evaluate::StartEvaluator(std::move(config));
  if (!evaluator) return Report(evaluator.error(), json);
  std::optional<Candidate> init;
  if (auto candidate = InitCandidate((*evaluator)->problem())) {
    init = std::move(*candidate);
  } else {
    command.Say("no init baseline: " + candidate.error().message);
  }

  const search::Observer observer = Watch(command);
  const search::Outcome outcome = search::Refine(*spec, init, **evaluator, *proposer->proposer, **run,
                                                 command.limits, observer);
  const nlohmann::json summary = SummaryJson(outcome, folder);
  if (auto saved = (*run)->SaveSummary(protocol::ToText(summary) + "\n"); !saved) {
    return Report(saved.error(), json);
  }
  auto printed = Print(json ? protocol::ToText(summary) + "\n" : SummaryText(outcome, folder));
  if (outcome.error) Report(*outcome.error, false);
  if (!printed) return Report(printed.error(), false);
  return ExitCodeOfOutcome(command, outcome);
}

}  // namespace

Command AddOptimize(CLI::App& app, const std::vector<std::string>& argv) {
  auto command = std::make_shared<OptimizeCommand>();
  command->argv = argv;
  CLI::App* sub = app.add_subcommand("optimize", "Search for a faster kernel; leaves the best on disk");
  AddProblemFlags(*sub, command->problem);
  sub->add_option("-n,--attempts", command->limits.attempts, "Proposals to evaluate")
      ->envname("CUDAAGENT_ATTEMPTS")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  sub->add_option("--patience", command->limits.patience, "Stop after this many without a new best; 0 = never")
      ->envname("CUDAAGENT_PATIENCE")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  sub->add_option("--target-speedup", command->target_speedup,
                  "Stop at this speedup over the deciding baseline; exit 7 where it is not reached")
      ->envname("CUDAAGENT_TARGET_SPEEDUP")
      ->check(CLI::PositiveNumber);
  sub->add_option("--max-time", command->max_time, "Start no proposal after this: 90s, 10m, 2h")
      ->envname("CUDAAGENT_MAX_TIME");
  sub->add_option("-o,--out", command->out, "Run folder; default runs/<date>-<model>-<id>")
      ->envname("CUDAAGENT_OUT");
  AddProposerFlags(*sub, command->proposer);
  AddEvalFlags(*sub, command->eval);
  AddTuneFlags(*sub, command->eval);
  sub->add_flag("--no-tune", command->no_tune, "Judge candidates at their default tune values only")
      ->envname("CUDAAGENT_NO_TUNE");
  AddOutputFlags(*sub, command->output);
  return [command] { return RunOptimize(*command); };
}

}  // namespace cudaagent::cli
