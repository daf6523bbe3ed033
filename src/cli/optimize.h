// What `optimize`, `optimize --resume` and `replay` share: a run from its flags to its exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/proposers.h"
#include "cli/search_flags.h"
#include "search/refine.h"
#include "store/run_folder.h"

namespace cudaagent::cli {

struct OptimizeCommand {
  std::vector<std::string> argv;
  ProblemFlags problem;
  EvalFlags eval;
  ProposerFlags proposer;
  OutputFlags output;
  SearchFlags search;
  search::Limits limits;  // what the flags come to
  bool dry_run = false;
  std::string out;
  std::string resume;                     // the run to go on with
  store::FlagValues flags;                // all of the above that was given, for the record
  std::unique_ptr<store::RunFolder> run;  // the run that is resumed; else one is begun

  void Say(const std::string& line) const;
};

CLI::App* AddOptimizeFlags(CLI::App& app, OptimizeCommand& command);

// Sets `command` as these recorded flags say.
Result<void> ApplyFlags(const store::FlagValues& flags, OptimizeCommand& command);

// The kind of device that `run` ran on instead of "auto", so that measured and estimated times
// never mix.
void PinDevice(const store::StoredRun& run, OptimizeCommand& command);

// Evaluates what a run evaluates before it asks a model, and prints the question.
int RunDry(const OptimizeCommand& command);

// What a person is told while the loop runs.
search::Observer Watch(const OptimizeCommand& command, bool builtin_first);

// Begins or resumes the run, prints its result and returns the exit code.
int RunOptimize(OptimizeCommand& command);

}  // namespace cudaagent::cli
