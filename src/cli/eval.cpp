// cudaagent eval MODEL.py KERNEL.cu: one candidate, judged.
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/flags.h"
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
  std::string kernel_path;
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

Result<Evaluation> Judge(const EvalCommand& command) {
  auto spec = ToSpec(command.problem);
  if (!spec) return tl::unexpected(spec.error());
  auto candidate = ReadCandidate(command.kernel_path);
  if (!candidate) return tl::unexpected(candidate.error());
  auto evaluator = evaluate::StartEvaluator(ToConfig(*spec, command.eval, command.output));
  if (!evaluator) return tl::unexpected(evaluator.error());
  return (*evaluator)->Evaluate(*candidate);
}

int RunEval(const EvalCommand& command) {
  auto evaluation = Judge(command);
  if (!evaluation) return Report(evaluation.error(), command.output.json);
  const std::string text = command.output.json ? protocol::ToJson(*evaluation).dump(2) + "\n"
                                               : report::EvaluationText(*evaluation);
  if (auto printed = Print(text); !printed) return Report(printed.error(), false);
  return ExitCodeOf(evaluation->verdict);
}

}  // namespace

Command AddEval(CLI::App& app) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "Check, time and reward one candidate");
  AddProblemFlags(*sub, command->problem);
  sub->add_option("KERNEL", command->kernel_path, "The candidate, a .cu file with a launch plan; - is stdin")
      ->required();
  AddEvalFlags(*sub, command->eval);
  AddOutputFlags(*sub, command->output);
  return [command] { return RunEval(*command); };
}

}  // namespace cudaagent::cli
