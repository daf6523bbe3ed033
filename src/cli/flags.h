// One struct per concern, defaults here; CLI11 fills them. Each flag's environment twin is
// CUDAAGENT_<NAME>.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "evaluate/evaluator.h"

namespace cudaagent::cli {

// Which problem.
struct ProblemFlags {
  std::string model_path;
  std::string class_name = "Model";
  std::string inputs_fn = "get_inputs";
  std::vector<std::string> consts;  // NAME=VALUE
  std::string dtype = "float32";
  std::string precision = "tf32";
  std::string mode = "eval";
};

// Where and how strictly to evaluate.
struct EvalFlags {
  std::string device = "auto";
  std::string reward = "milestone";
  std::string preset = "verified";
  std::string baseline = "compile";
  std::string baselines = "default";
  EvalOptions options;
  evaluate::Timeouts timeouts;
  bool no_hidden_variants = false;
  bool no_race_check = false;
  bool no_prepare = false;
  std::vector<std::string> also;  // NAME=VALUE,... each: further shapes to verify at
  evaluate::TuneOptions tune;
};

// How to speak.
struct OutputFlags {
  bool json = false;
  bool quiet = false;
};

// A number from `low` to `high`; NaN is none.
CLI::Validator Within(double low, double high);

// --help shows the command's options that have no group yet under this title.
void GroupFlags(CLI::App& command, const std::string& title);

void AddProblemFlags(CLI::App& command, ProblemFlags& flags);
void AddEvalFlags(CLI::App& command, EvalFlags& flags);
// How long and how widely to tune; whether to, each command says itself.
void AddTuneFlags(CLI::App& command, EvalFlags& flags);
void AddOutputFlags(CLI::App& command, OutputFlags& flags);

// NAME=VALUE texts as name -> Python literal; kUsage names `flag` and the text that is none.
Result<std::map<std::string, std::string>> ToConstants(const char* flag,
                                                       const std::vector<std::string>& texts);

// Reads model.py. kUsage names what is wrong with which flag.
Result<ProblemSpec> ToSpec(const ProblemFlags& flags);

// The evaluator's configuration; progress goes to stderr unless `output.quiet`.
evaluate::Config ToConfig(const ProblemSpec& spec, const EvalFlags& flags,
                          const OutputFlags& output);

// The words of "cudaagent eval MODEL.py FLAGS..." that name the same problem and rules; the
// kernel's path is to be appended. Only flags that differ from the defaults are written.
std::vector<std::string> RecheckCommand(const ProblemSpec& spec, const ProblemFlags& problem,
                                        const EvalFlags& eval);

}  // namespace cudaagent::cli
