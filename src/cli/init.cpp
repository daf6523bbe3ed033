// cudaagent init MODEL.py: the baseline candidate, the model's ATen graph as op steps.
#include <memory>

#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output_file.h"
#include "evaluate/evaluator.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

struct InitCommand {
  ProblemFlags problem;
  std::string device = "auto";
  std::string out = "-";
  OutputFlags output;
};

int RunInit(const InitCommand& command) {
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), false);
  EvalFlags eval;
  eval.device = command.device;
  auto problem = evaluate::LoadProblemInfo(ToConfig(*spec, eval, command.output));
  if (!problem) return Report(problem.error(), false);
  auto candidate = InitCandidate(*problem);
  if (!candidate) return Report(candidate.error(), false);
  auto written = WriteOutputFile(command.out, candidate->source);
  return written ? kExitOk : Report(written.error(), false);
}

}  // namespace

Command AddInit(CLI::App& app) {
  auto command = std::make_shared<InitCommand>();
  CLI::App* sub = app.add_subcommand(
      "init",
      "Write the baseline candidate: the model's ATen graph as a launch plan, no kernels yet");
  AddProblemFlags(*sub, command->problem);
  sub->add_option("-o,--out", command->out, "File to write; - is stdout")->capture_default_str();
  sub->add_option("--device", command->device, "auto, cpu, gpu or gpu:N")
      ->envname("CUDAAGENT_DEVICE")
      ->capture_default_str();
  sub->add_flag("-q,--quiet", command->output.quiet, "No progress on stderr")
      ->envname("CUDAAGENT_QUIET");
  return [command] { return RunInit(*command); };
}

}  // namespace cudaagent::cli
