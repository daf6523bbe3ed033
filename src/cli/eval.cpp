// cudaagent eval MODEL.py KERNEL.cu...: candidates, judged one after another by one warm worker.
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "candidate/tune.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/signals.h"
#include "evaluate/evaluator.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

struct EvalCommand {
  ProblemFlags problem;
  EvalFlags eval;
  OutputFlags output;
  std::vector<std::string> kernel_paths;
  bool tune = false;
  bool retune = false;
  bool write_tuned = false;
};

Result<Candidate> ReadCandidate(const std::string& path) {
  Candidate candidate;
  candidate.origin = path;
  if (path == "-") {
    candidate.source.assign(std::istreambuf_iterator<char>(std::cin), {});
    return candidate;
  }
  auto source = util::ReadFile(path, 16 << 20);
  if (!source) return tl::unexpected(source.error());
  candidate.source = std::move(*source);
  return candidate;
}

// The chosen values into the file they were chosen for.
Result<void> WriteTuned(const Candidate& candidate, const Evaluation& evaluation) {
  if (candidate.origin == "-" || !evaluation.tuning || evaluation.tuning->chosen.empty()) return {};
  auto tuned = candidate::WithTuned(candidate.source, evaluation.tuning->chosen);
  if (!tuned) return Fail(ErrorCode::kInternal, tuned.error().message);
  return util::WriteFileAtomic(candidate.origin, *tuned);
}

std::string Render(const EvalCommand& command, const std::string& path, const Evaluation& evaluation) {
  const bool several = command.kernel_paths.size() > 1;
  if (!command.output.json) {
    return (several ? "== " + path + "\n" : "") + report::EvaluationText(evaluation);
  }
  nlohmann::json json = protocol::ToJson(evaluation);
  if (several) json["kernel"] = path;  // one line each: JSONL
  return protocol::ToText(json, several ? -1 : 2) + "\n";
}

int RunEval(const EvalCommand& command) {
  const bool json = command.output.json;
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), json);
  std::vector<Candidate> candidates;
  for (const std::string& path : command.kernel_paths) {
    auto candidate = ReadCandidate(path);
    if (!candidate) return Report(candidate.error(), json);
    candidates.push_back(std::move(*candidate));
  }
  evaluate::Config config = ToConfig(*spec, command.eval, command.output);
  if (command.tune) config.tune.mode = evaluate::TuneMode::kUntuned;
  if (command.retune) config.tune.mode = evaluate::TuneMode::kAlways;
  auto evaluator = evaluate::StartEvaluator(std::move(config));
  if (!evaluator) return Report(evaluator.error(), json);
  int exit_code = kExitOk;
  for (const Candidate& candidate : candidates) {
    if (StopSignal() != 0) return 128 + StopSignal();
    auto evaluation = (*evaluator)->Evaluate(candidate);
    if (!evaluation) return Report(evaluation.error(), json);
    auto printed = Print(Render(command, candidate.origin, *evaluation));
    if (!printed) return Report(printed.error(), false);
    if (command.write_tuned) {
      if (auto written = WriteTuned(candidate, *evaluation); !written) {
        return Report(written.error(), false);
      }
    }
    if (exit_code == kExitOk) exit_code = ExitCodeOf(evaluation->verdict);
  }
  return exit_code;
}

}  // namespace

Command AddEval(CLI::App& app) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "Check, time and reward candidates");
  AddProblemFlags(*sub, command->problem);
  sub->add_option("KERNEL", command->kernel_paths,
                  "The candidate, a .cu file with a launch plan; - is stdin. Several are judged in turn "
                  "(--json: one line each); the exit code is the first failure's")
      ->required();
  AddEvalFlags(*sub, command->eval);
  AddTuneFlags(*sub, command->eval);
  sub->add_flag("--tune", command->tune,
                "Try the combinations of the tune values of candidates without \"tuned\"")
      ->envname("CUDAAGENT_TUNE");
  sub->add_flag("--retune", command->retune, "The same, whether or not they have \"tuned\"");
  sub->add_flag("--write-tuned", command->write_tuned,
                "With --tune or --retune: write the chosen values into the file");
  AddOutputFlags(*sub, command->output);
  return [command] { return RunEval(*command); };
}

}  // namespace cudaagent::cli
