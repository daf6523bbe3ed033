// A bench's problems as jobs: what the runner's children do, and where their kernels lie.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/problem_job.h"
#include "bench/runner.h"
#include "cli/bench.h"
#include "cudaagent/proposer.h"

namespace cudaagent::cli {

using Candidates = std::map<std::string, std::vector<bench::Sample>>;  // by problem key

// `command` outlives it. `flags` become those of each problem's run.
bench::JobSettings SettingsOf(const BenchCommand& command, const store::FlagValues& flags,
                              const std::string& folder, Proposer* proposer);

// All but on_row and on_tick; `settings` outlives it.
bench::RunnerCallbacks CallbacksOf(const bench::JobSettings& settings);

// Where the kernel of a correct row lies; "" = gone.
std::string KernelPathOf(const BenchCommand& command, const bench::BenchFolder& folder,
                         const bench::Problem& problem, const bench::Row& row,
                         const Candidates& candidates);

// Writes best/<key>.cu of a problem from the best of its rows. A kernel that is gone is no reason
// to fail.
Result<void> KeepBest(const BenchCommand& command, const bench::BenchFolder& folder,
                      const bench::Problem& problem, const Candidates& candidates);

}  // namespace cudaagent::cli
