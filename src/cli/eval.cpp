// cudaagent eval MODEL.py KERNEL.cu...: candidates, judged one after another by one warm worker.
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "candidate/tune.h"
#include "cli/also.h"
#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output_file.h"
#include "cli/preset.h"
#include "cli/reproduce.h"
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
  std::string reproduce;
  bool init = false;
  bool confirm = false;
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

// The values that were chosen into the candidate, and where asked into the file it came from.
Result<void> KeepTuned(const EvalCommand& command, const Evaluation& evaluation,
                       Candidate* candidate) {
  if (!evaluation.tuning || evaluation.tuning->chosen.empty()) return {};
  auto tuned = candidate::WithTuned(candidate->source, evaluation.tuning->chosen);
  if (!tuned) return Fail(ErrorCode::kInternal, tuned.error().message);
  candidate->source = std::move(*tuned);
  if (!command.write_tuned || candidate->origin == "-") return {};
  return WriteOutputFile(candidate->origin, candidate->source);
}

std::string Render(const EvalCommand& command, const std::string& path,
                   const Evaluation& evaluation, const std::vector<AlsoResult>& also) {
  const bool several = command.kernel_paths.size() > 1;
  if (!command.output.json) {
    return (several ? "== " + path + "\n" : "") + report::EvaluationText(evaluation) +
           AlsoText(also);
  }
  nlohmann::json json = protocol::ToJson(evaluation);
  if (several) json["kernel"] = path;  // one line each: JSONL
  if (!also.empty()) json["also"] = AlsoJson(also);
  return protocol::ToText(json, several ? -1 : 2) + "\n";
}

// One after another at the problem's own shapes; at the further ones once the worker is gone, for a
// process that times has the GPU to itself.
int Judge(const EvalCommand& command, std::vector<Candidate> candidates,
          std::unique_ptr<Evaluator> evaluator, const std::vector<AlsoShape>& shapes) {
  int exit_code = kExitOk;
  std::vector<Candidate> correct;
  std::vector<std::pair<const Candidate*, Evaluation>> judged;
  for (Candidate& candidate : candidates) {
    if (StopSignal() != 0) return 128 + StopSignal();
    auto evaluation = evaluator->Evaluate(candidate);
    if (!evaluation) return Report(evaluation.error(), command.output.json);
    if (auto kept = KeepTuned(command, *evaluation, &candidate); !kept) {
      return Report(kept.error(), false);
    }
    if (command.confirm && evaluation->verdict == Verdict::kOk) {
      evaluation = evaluator->Confirm(candidate);
      if (!evaluation) return Report(evaluation.error(), command.output.json);
    }
    if (exit_code == kExitOk) exit_code = ExitCodeOf(evaluation->verdict);
    if (!shapes.empty()) {
      if (evaluation->verdict == Verdict::kOk) correct.push_back(candidate);
      judged.emplace_back(&candidate, std::move(*evaluation));
      continue;
    }
    auto printed = Print(Render(command, candidate.origin, *evaluation, {}));
    if (!printed) return Report(printed.error(), false);
  }
  evaluator.reset();
  auto also = VerifyAlso(shapes, correct, command.eval, command.output);
  if (!also) return Report(also.error(), command.output.json);
  auto next = also->begin();
  for (const auto& [candidate, evaluation] : judged) {
    const auto results = evaluation.verdict == Verdict::kOk ? *next++ : std::vector<AlsoResult>();
    for (const AlsoResult& each : results) {
      if (exit_code == kExitOk) exit_code = ExitCodeOf(each.verdict);
    }
    auto printed = Print(Render(command, candidate->origin, evaluation, results));
    if (!printed) return Report(printed.error(), false);
  }
  return exit_code;
}

int RunEval(const EvalCommand& command) {
  const bool json = command.output.json;
  if (!command.reproduce.empty())
    return RunReproduce(command.reproduce, command.eval, command.output);
  if (command.problem.model_path.empty()) {
    return Report({ErrorCode::kUsage, "eval needs MODEL.py and a KERNEL.cu."}, json);
  }
  if (command.init != command.kernel_paths.empty()) {
    return Report(Error{ErrorCode::kUsage,
                        command.init ? "--init judges the baseline alone; leave KERNEL out."
                                     : "What is to be judged? Name a KERNEL.cu, or say --init "
                                       "for the baseline that cudaagent init writes."},
                  json);
  }
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), json);
  auto shapes = AlsoShapes(*spec, command.eval.also);
  if (!shapes) return Report(shapes.error(), json);
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
  if (command.init) {
    auto candidate = InitCandidate((*evaluator)->problem());
    if (!candidate) return Report(candidate.error(), json);
    candidates.push_back(std::move(*candidate));
  }
  return Judge(command, std::move(candidates), std::move(*evaluator), *shapes);
}

}  // namespace

Command AddEval(CLI::App& app) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "Check, time and reward candidates");
  AddProblemFlags(*sub, command->problem);
  sub->add_option(
      "KERNEL", command->kernel_paths,
      "The candidate, a .cu file with a launch plan; - is stdin. Several are judged in turn "
      "(--json: one line each); the exit code is the first failure's");
  sub->add_flag("--init", command->init,
                "Judge the baseline that cudaagent init writes, in place of a KERNEL");
  sub->add_flag("--confirm", command->confirm,
                "Judge what is correct once more in a fresh worker, by turns with the deciding "
                "baseline itself; the result is of that")
      ->envname("CUDAAGENT_CONFIRM");
  AddEvalFlags(*sub, command->eval);
  AddTuneFlags(*sub, command->eval);
  sub->add_flag("--tune", command->tune,
                "Try the combinations of the tune values of candidates without \"tuned\"")
      ->envname("CUDAAGENT_TUNE");
  sub->add_flag("--retune", command->retune, "The same, whether or not they have \"tuned\"");
  sub->add_flag("--write-tuned", command->write_tuned,
                "With --tune or --retune: write the chosen values into the file");
  sub->add_option("--reproduce", command->reproduce,
                  "Judge a bench's best/PROBLEM.json again, by its own rules: confirmed (exit 0), "
                  "refuted (5) or not "
                  "comparable (6)")
      ->type_name("PATH")
      ->excludes(sub->get_option("MODEL"));
  AddOutputFlags(*sub, command->output);
  sub->get_option("MODEL")->required(false);
  return [command, sub] {
    ApplyPreset(*sub, command->problem, command->eval);
    return RunEval(*command);
  };
}

}  // namespace cudaagent::cli
