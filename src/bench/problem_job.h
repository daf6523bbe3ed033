// The work of one child of the runner: one problem with a fresh worker, from its model.py to its
// rows.
#pragma once

#include <functional>
#include <string>

#include "bench/row.h"
#include "bench/runner.h"
#include "cudaagent/proposer.h"
#include "evaluate/evaluator.h"
#include "search/refine.h"
#include "store/run_folder.h"

namespace cudaagent::bench {

struct JobSettings {
  bool optimize = false;  // else the task's samples are judged as they are
  std::string folder;     // of the bench; a problem's run is FOLDER/problems/<key>
  search::Limits limits;
  Proposer* proposer = nullptr;  // optimize
  // The evaluator of a problem; its device is set here.
  std::function<Result<evaluate::Config>(const Problem&)> config;
  std::function<Result<Candidate>(const ProblemInfo&)> init;
  std::function<std::string(const Attempt&)> feedback;
  std::function<store::RunDescription(const Problem&, const ProblemSpec&)> description;
  std::function<bool()> stop_requested;
};

std::string RunFolderOf(const std::string& bench_folder, const Problem& problem);

// In the child. Emits a row for every sample, but for those that an interruption came before.
void DoTask(const JobSettings& settings, const Task& task, const std::string& device,
            const Voice& voice);

// In the parent: the row of a sample whose child ended without it. What an optimize run had stored
// by then counts.
Row SalvageRow(const JobSettings& settings, const Task& task, const Sample& sample, Cause cause,
               const std::string& words);

}  // namespace cudaagent::bench
