// What the parts of `bench` share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "bench/bench_folder.h"
#include "bench/ci.h"
#include "bench/suite.h"
#include "cli/flags.h"
#include "cli/proposers.h"
#include "cli/search_flags.h"
#include "search/refine.h"

namespace cudaagent::cli {

// How to run and what to write: each call's own.
struct BenchCallFlags {
  std::string out, resume;
  int jobs = 1;
  std::string problem_timeout = "30m";
  std::string memory_limit;  // "" = nine tenths of the machine's
  int max_infra_errors = 5;
  std::vector<double> p = {0, 0.5, 0.8, 1, 1.5, 2};
  std::vector<int> k = {1, 5, 10};
  std::string csv, junit, md, kernelbench_out;
  std::vector<std::string> fail_under;
  std::string against;
  double margin = 0.05;
  OutputFlags output;
};

struct BenchCommand : BenchCallFlags {
  std::vector<std::string> argv;

  // What is asked and by which rules: recorded, a resumed bench goes on with it.
  std::string suite, candidates;
  std::string results, eager_times, compile_times;  // KernelBench's files
  std::vector<int> levels;
  bench::Selection selection;
  bool optimize = false;
  ProblemFlags problem;  // but MODEL and --const
  EvalFlags eval;
  ProposerFlags proposer;
  SearchFlags search;
  search::Limits limits;  // what the flags come to
};

// Begins or resumes the bench, writes its results and returns the exit code. `flags` are what it is
// recorded with.
int RunBench(BenchCommand& command, const store::FlagValues& flags);

// The devices of --device, one entry for each problem that runs at a time: gpu:0,gpu:1, all, or the
// CPU device `jobs` times.
Result<std::vector<std::string>> BenchDevices(const std::string& wanted, int jobs);

// What the gates ask for, read before anything runs. kUsage names what is wrong.
struct Gates {
  std::vector<bench::Requirement> requirements;
  std::vector<bench::Row> before;
};
Result<Gates> ReadGates(const BenchCommand& command);

// Judges them. A row that is slower than before is measured again by `remeasure` before it counts;
// estimates are not, for they would be the same.
Result<bench::GateReport> JudgeGates(
    const BenchCommand& command, const Gates& gates, const bench::BenchFolder& folder,
    const std::function<std::vector<bench::Row>(const std::vector<bench::Row>&)>& remeasure);

// That the named files can be written and no two are one, before hours of work: nothing is
// replaced.
Result<void> CheckOutputs(const BenchCommand& command);

// Prints the result of a bench and writes the files that were asked for.
Result<void> WriteOutputs(const BenchCommand& command, const bench::BenchFolder& folder,
                          const bench::GateReport& gates);

}  // namespace cudaagent::cli
