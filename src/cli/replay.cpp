// cudaagent replay RUN: a recorded run again, offline: its prompts, its answers, its verdicts, its
// best.
#include <memory>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/optimize.h"
#include "store/run_list.h"

namespace cudaagent::cli {
namespace {

struct ReplayCommand {
  std::vector<std::string> argv;
  std::string run;
  std::string out;
  OutputFlags output;
};

// The recorded flags, with the recording as the proposer, for as many attempts as it holds. What
// ended the run early (time, patience, target) must not end its replay elsewhere.
store::FlagValues ReplayFlags(const store::StoredRun& recorded, const std::string& folder) {
  store::FlagValues flags = recorded.description.flags;
  size_t proposals = 0;
  for (const store::StoredAttempt& each : recorded.attempts) proposals += each.proposal ? 1 : 0;
  flags["--proposer"] = {"replay"};
  flags["--replay"] = {folder};
  flags["--attempts"] = {std::to_string(proposals)};
  for (const char* limit : {"--patience", "--target-speedup", "--max-time"}) flags.erase(limit);
  return flags;
}

int RunReplay(const ReplayCommand& asked) {
  const bool json = asked.output.json;
  auto folder = store::FindRun(asked.run);
  if (!folder) return Report(folder.error(), json);
  auto recorded = store::ReadRun(*folder);
  if (!recorded) return Report(recorded.error(), json);
  OptimizeCommand command;
  if (auto applied = ApplyFlags(ReplayFlags(*recorded, *folder), command); !applied) {
    return Report(applied.error(), json);
  }
  command.argv = asked.argv;
  command.out = asked.out;
  command.output = asked.output;
  PinDevice(*recorded, command);
  return RunOptimize(command);
}

}  // namespace

Command AddReplay(CLI::App& app, const std::vector<std::string>& argv) {
  auto command = std::make_shared<ReplayCommand>();
  command->argv = argv;
  CLI::App* sub = app.add_subcommand(
      "replay",
      "Repeat a recorded run offline; fails where a prompt, a verdict or the best differs");
  sub->add_option("RUN", command->run, "A run's folder, its name in runs/ or latest")->required();
  sub->add_option("-o,--out", command->out,
                  "Run folder of the replay; default runs/<date>-<model>-<id>");
  AddOutputFlags(*sub, command->output);
  return [command] { return RunReplay(*command); };
}

}  // namespace cudaagent::cli
