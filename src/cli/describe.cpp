// cudaagent describe MODEL.py: what the problem is.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "evaluate/evaluator.h"
#include "protocol/evaluation_json.h"
#include "report/problem_text.h"

namespace cudaagent::cli {
namespace {

struct DescribeCommand {
  ProblemFlags problem;
  std::string device = "auto";
  double timeout_load_s = evaluate::Timeouts().load_s;
  OutputFlags output;
};

int RunDescribe(const DescribeCommand& command) {
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), command.output.json);
  EvalFlags eval;
  eval.device = command.device;
  eval.timeouts.load_s = command.timeout_load_s;
  auto problem = evaluate::LoadProblemInfo(ToConfig(*spec, eval, command.output));
  if (!problem) return Report(problem.error(), command.output.json);
  const std::string text = command.output.json
                               ? protocol::ToText(report::ProblemJson(*spec, *problem)) + "\n"
                               : report::ProblemText(*spec, *problem);
  if (auto printed = Print(text); !printed) return Report(printed.error(), false);
  return kExitOk;
}

}  // namespace

Command AddDescribe(CLI::App& app) {
  auto command = std::make_shared<DescribeCommand>();
  CLI::App* sub = app.add_subcommand(
      "describe", "Show a problem: inputs, parameters, outputs, ATen graph, bytes and FLOPs");
  AddProblemFlags(*sub, command->problem);
  sub->add_option("--device", command->device, "auto, cpu, gpu or gpu:N")
      ->envname("CUDAAGENT_DEVICE")
      ->capture_default_str();
  sub->add_option("--timeout-load", command->timeout_load_s, "Seconds for loading model.py")
      ->envname("CUDAAGENT_TIMEOUT_LOAD")
      ->capture_default_str();
  AddOutputFlags(*sub, command->output);
  return [command] { return RunDescribe(*command); };
}

}  // namespace cudaagent::cli
