// Runs jobs in processes of their own, so that nothing a problem does can take its neighbours'
// rows: a child that crashes, hangs, exits or eats memory costs its own row, which the parent then
// writes.
//
// The child is a fork of this process, which must have no other threads; it keeps what was made
// before (a proposer and its key, say) without passing it anywhere. Workers and compilers are the
// child's children and go with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/suite.h"
#include "cudaagent/result.h"

namespace cudaagent::bench {

// One problem and the samples of it that are to be judged: a row each.
struct Task {
  Problem problem;
  std::vector<Sample> samples;
};

// What a task's process tells the parent, and what it asks.
struct Voice {
  std::function<void(Row)> emit;  // a row, as soon as it is known
  // Its worker is up and the device is its own: from here its time counts. Further calls do
  // nothing.
  std::function<void()> begin;
  // Set where the process was started while another one still has the device: blocks until that one
  // is gone, and gives the UUID of the GPU, where an earlier task's rows told it.
  std::function<std::string()> await_turn;
};

enum class Cause { kTimeout, kMemory, kDied };

struct RunnerOptions {
  std::vector<std::string> devices;  // one entry for each task that runs at a time
  double problem_timeout_s = 1800;   // from the task's Voice::begin on
  // Until then: a start that waits for the device's lock (10 minutes) or a cold disk, and no more.
  double start_timeout_s = 900;
  int64_t memory_bytes = 0;  // of a task's processes together; 0 = no limit
  int max_infra_errors = 5;  // in a row, on one device: it gets no more tasks
  std::string log_folder;    // a child's stderr: LOG_FOLDER/<key>.log
};

struct RunnerCallbacks {
  // In the child: does the task, giving each row as it is known. Whatever it throws becomes a row.
  std::function<void(const Task&, const std::string& device, const Voice& voice)> work;
  // In the parent: the row of a sample whose child ended without it.
  std::function<Row(const Task&, const Sample&, Cause cause, const std::string& words)> salvage;
  // In the parent, on every row. An error ends the run.
  std::function<Result<void>(Row)> on_row;
  // About five times a second: the problems that run now and for how long.
  std::function<void(const std::vector<std::pair<std::string, double>>& running)> on_tick;
  std::function<int()> stop_signal;  // 0 = go on
};

struct RunnerEnd {
  bool interrupted = false;
  std::vector<std::string> sick;  // devices that were given up
  std::optional<Error> error;
};

// Runs all tasks. Interrupted: what runs is asked to stop and finishes its evaluation; its
// unfinished samples have no row. Where every device is given up, the remaining tasks have no row
// either.
RunnerEnd RunTasks(const std::vector<Task>& tasks, const RunnerOptions& options,
                   const RunnerCallbacks& callbacks);

}  // namespace cudaagent::bench
