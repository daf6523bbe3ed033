// Running a bench: from its flags to its exit code.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "bench/kernelbench_files.h"
#include "bench/process_tree.h"
#include "bench/runner.h"
#include "cli/app.h"
#include "cli/bench.h"
#include "cli/bench_jobs.h"
#include "cli/bench_progress.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "cli/signals.h"
#include "util/file.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

void Say(const BenchCommand& command, const std::string& line) {
  if (!command.output.quiet) std::fprintf(stderr, "%s\n", util::SanitiseLog(line).c_str());
}

// model.py files of a suite that is one file, so that the worker finds them.
Result<void> WriteModels(const std::string& folder, std::vector<bench::Problem>* problems) {
  for (bench::Problem& problem : *problems) {
    if (!problem.path.empty()) continue;
    problem.path = folder + "/models/" + problem.key + ".py";
    const std::string parent = problem.path.substr(0, problem.path.rfind('/'));
    if (auto made = util::MakeDirs(parent); !made) return made;
    if (auto written = util::WriteFileAtomic(problem.path, problem.source); !written)
      return written;
  }
  return {};
}

Result<bench::BenchFolder> OpenFolder(BenchCommand& command, const store::FlagValues& flags,
                                      const std::vector<bench::Problem>& problems) {
  if (command.resume.empty()) {
    if (command.eval.options.seed == 0) command.eval.options.seed = FreshSeed();
    bench::Description description;
    description.flags = flags;
    description.arguments = command.argv;
    description.suite = std::filesystem::absolute(command.suite).lexically_normal().string();
    description.optimize = command.optimize;
    description.seed = command.eval.options.seed;
    description.version = Version();
    description.problems = problems;
    return bench::BenchFolder::Create(command.out, std::move(description));
  }
  auto folder = bench::BenchFolder::Resume(command.resume);
  if (!folder) return folder;
  command.eval.options.seed = folder->description().seed;
  const std::vector<bench::Problem>& before = folder->description().problems;
  for (size_t i = 0; i < std::max(before.size(), problems.size()); ++i) {
    const bool same = i < before.size() && i < problems.size() &&
                      before[i].key == problems[i].key && before[i].sha256 == problems[i].sha256 &&
                      before[i].consts == problems[i].consts;
    if (same) continue;
    return Fail(ErrorCode::kUsage, "The suite has changed since the bench began: " +
                                       (i < before.size() ? before[i].key : problems[i].key) +
                                       " is not what it was. Put it back, or start a new bench.");
  }
  return folder;
}

// Problems and samples that have their row.
std::set<std::pair<std::string, int>> Done(const bench::BenchFolder& folder) {
  std::set<std::pair<std::string, int>> done;
  for (const bench::Row& row : folder.rows()) done.emplace(row.problem, row.sample);
  return done;
}

std::string SomeOf(const std::vector<std::string>& names) {
  const size_t shown = std::min<size_t>(names.size(), 3);
  return util::Join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ") +
         (shown < names.size() ? ", ..." : "");
}

// Says what of a file of baseline times met nothing, so that a wrong file is seen.
void SayUnmatched(const BenchCommand& command, const std::string& path,
                  const bench::BaselineTimes& times, const std::vector<bench::Problem>& problems,
                  const std::vector<bench::Row>& rows) {
  if (path.empty()) return;
  const std::vector<std::string> idle = bench::TimesOfNone(times, problems);
  if (!idle.empty())
    Say(command, fmt::format("{} times of {} belong to none of the chosen problems: {}",
                             idle.size(), path, SomeOf(idle)));
  const std::vector<std::string> untimed = bench::WithoutTime(times, rows);
  if (!untimed.empty())
    Say(command, fmt::format("{} correct problems have no time in {}, so no speedup over it: {}",
                             untimed.size(), path, SomeOf(untimed)));
}

// The rows of KernelBench's files.
Result<std::vector<bench::Row>> ReadResults(const BenchCommand& command,
                                            const std::vector<bench::Problem>& problems) {
  auto eager = bench::ReadBaselineTimes(command.eager_times);
  if (!eager) return tl::unexpected(eager.error());
  auto compiled = bench::ReadBaselineTimes(command.compile_times);
  if (!compiled) return tl::unexpected(compiled.error());
  int unknown = 0;
  auto rows = bench::ReadEvalResults(command.results, problems, *eager, *compiled, &unknown);
  if (!rows) return rows;
  if (unknown > 0)
    Say(command,
        fmt::format("{} problems of {} are none of the chosen ones", unknown, command.results));
  SayUnmatched(command, command.eager_times, *eager, problems, *rows);
  SayUnmatched(command, command.compile_times, *compiled, problems, *rows);
  const auto untimed = std::count_if(rows->begin(), rows->end(), [](const bench::Row& row) {
    return row.correct() && !row.evaluation->candidate;
  });
  if (untimed > 0)
    Say(command,
        fmt::format("{} correct rows of {} were not timed (runtime -1)", untimed, command.results));
  return rows;
}

// Rows of KernelBench's file; a problem it does not hold gets one that says so.
Result<void> ImportRows(const BenchCommand& command, const std::vector<bench::Problem>& problems,
                        std::vector<bench::Row> rows, bench::BenchFolder* folder) {
  std::set<std::pair<std::string, int>> done = Done(*folder);
  std::set<std::string> known;
  for (bench::Row& row : rows) {
    known.insert(row.problem);
    if (!done.emplace(row.problem, row.sample).second) continue;
    if (auto kept = folder->Append(std::move(row)); !kept) return kept;
  }
  for (const bench::Problem& problem : problems) {
    if (known.contains(problem.key) || done.contains({problem.key, 0})) continue;
    bench::Row row = bench::RowOf(problem, 0);
    row.outcome = bench::Outcome::kNoCandidate;
    row.message = command.results + " has no entry for it.";
    if (auto kept = folder->Append(std::move(row)); !kept) return kept;
  }
  return {};
}

// What is left to do. Problems without any candidate get their rows here.
Result<std::vector<bench::Task>> TasksOf(const BenchCommand& command, bench::BenchFolder* folder,
                                         const std::vector<bench::Problem>& problems,
                                         const Candidates& candidates) {
  const std::set<std::pair<std::string, int>> done = Done(*folder);
  std::vector<bench::Task> tasks;
  if (!command.results.empty()) return tasks;
  for (const bench::Problem& problem : problems) {
    bench::Task task{problem, {}};
    const auto found = candidates.find(problem.key);
    std::vector<bench::Sample> samples;
    if (command.optimize) {
      samples.push_back({0, ""});
    } else if (found != candidates.end()) {
      samples = found->second;
    } else if (!done.contains({problem.key, 0})) {
      bench::Row row = bench::RowOf(problem, 0);
      row.outcome = bench::Outcome::kNoCandidate;
      row.message = "No file of " + command.candidates + " is a candidate for it.";
      row.date = util::NowIso8601();
      if (auto kept = folder->Append(std::move(row)); !kept) return tl::unexpected(kept.error());
    }
    for (bench::Sample& sample : samples) {
      if (!done.contains({problem.key, sample.number})) task.samples.push_back(std::move(sample));
    }
    if (!task.samples.empty()) tasks.push_back(std::move(task));
  }
  return tasks;
}

int EndBench(const BenchCommand& command, const bench::BenchFolder& folder,
             const bench::RunnerEnd& end, const bench::GateReport& gates) {
  auto written = WriteOutputs(command, folder, gates);
  const std::string go_on = "Go on with: cudaagent bench --resume " + folder.folder();
  if (end.error) return Report(*end.error, false);
  if (!written) return Report(written.error(), false);
  if (end.interrupted) {
    Say(command, "interrupted; " + go_on);
    return 128 + StopSignal();
  }
  if (!end.sick.empty()) {
    return Report(
        {ErrorCode::kEnvironment,
         fmt::format("{} was given up after {} infrastructure errors in a row. The last one: {}\n"
                     "Mend it, then: cudaagent bench --resume {}",
                     util::Join(end.sick, ", "), command.max_infra_errors,
                     folder.rows().back().message, folder.folder())},
        false);
  }
  for (const bench::Row& row : folder.rows()) {
    if (row.outcome != bench::Outcome::kInfraError) continue;
    return Report({ErrorCode::kEnvironment,
                   row.problem + " failed through no fault of a candidate: " + row.message + "\n" +
                       go_on + " does such rows again."},
                  false);
  }
  return gates.failed() ? kExitGate : kExitOk;
}

Result<bench::RunnerOptions> RunnerOptionsOf(const BenchCommand& command,
                                             const std::string& folder) {
  bench::RunnerOptions options;
  auto devices = BenchDevices(command.eval.device, command.jobs);
  if (!devices) return tl::unexpected(devices.error());
  options.devices = std::move(*devices);
  auto timeout = ParseDuration(command.problem_timeout);
  if (!timeout) return tl::unexpected(timeout.error());
  if (*timeout < 1) {
    return Fail(ErrorCode::kUsage, "--problem-timeout " + command.problem_timeout +
                                       " leaves no problem the time to start. Write 1s or more.");
  }
  options.problem_timeout_s = *timeout;
  options.memory_bytes = bench::MachineMemory() / 10 * 9;
  if (!command.memory_limit.empty()) {
    auto bytes = ParseSize(command.memory_limit);
    if (!bytes) return tl::unexpected(bytes.error());
    if (*bytes < int64_t{1} << 30) {
      return Fail(ErrorCode::kUsage,
                  "--memory-limit " + command.memory_limit +
                      " is less than a worker takes by itself. Write 1GiB or more.");
    }
    options.memory_bytes = *bytes;
  }
  options.max_infra_errors = command.max_infra_errors;
  options.log_folder = folder + "/logs";
  return options;
}

std::map<std::string, const bench::Problem*> ByKey(const std::vector<bench::Problem>& problems) {
  std::map<std::string, const bench::Problem*> by_key;
  for (const bench::Problem& problem : problems) by_key[problem.key] = &problem;
  return by_key;
}

// The kernels of these rows, judged once more in fresh workers.
std::vector<bench::Row> MeasureAgain(const BenchCommand& command, const bench::BenchFolder& folder,
                                     const std::vector<bench::Row>& rows,
                                     const std::map<std::string, const bench::Problem*>& problems,
                                     const Candidates& candidates,
                                     const bench::RunnerOptions& options) {
  BenchCommand scoring = command;
  scoring.optimize = false;
  std::vector<bench::Task> tasks;
  for (const bench::Row& row : rows) {
    Say(command, "measuring " + row.problem + " again: it is slower than before");
    const std::string path =
        KernelPathOf(command, folder, *problems.at(row.problem), row, candidates);
    tasks.push_back({*problems.at(row.problem), {{row.sample, path}}});
  }
  const bench::JobSettings settings = SettingsOf(scoring, {}, folder.folder(), nullptr);
  std::vector<bench::Row> again;
  bench::RunnerCallbacks callbacks = CallbacksOf(settings);
  callbacks.on_row = [&again](bench::Row row) -> Result<void> {
    again.push_back(std::move(row));
    return {};
  };
  bench::RunTasks(tasks, options, callbacks);
  return again;
}

Result<void> CheckCommand(const BenchCommand& command) {
  if (command.suite.empty()) {
    return Fail(
        ErrorCode::kUsage,
        "bench needs --suite: a KernelBench checkout, a folder of model.py files or a JSONL "
        "export; or --resume DIR to go on with a bench.");
  }
  const int modes = (command.optimize ? 1 : 0) + (command.candidates.empty() ? 0 : 1) +
                    (command.results.empty() ? 0 : 1);
  if (modes != 1) {
    return Fail(
        ErrorCode::kUsage,
        "Say what to score: --optimize asks a proposer for each problem, --candidates DIR "
        "takes the .cu files of a folder, --results FILE takes what KernelBench's evaluator "
        "found. Give one of the three.");
  }
  if (command.proposer.proposer == "replay" || !command.proposer.replay.empty()) {
    return Fail(ErrorCode::kUsage,
                "bench replays nothing: a recording is one run's. Replay its runs one by one: "
                "cudaagent replay DIR/problems/LEVEL/PROBLEM");
  }
  return {};
}

// What a bench is about, read before anything is written.
struct Asked {
  ChosenProposer proposer;
  Gates gates;
  std::vector<bench::Problem> problems;
  Candidates candidates;
  std::vector<bench::Row> results;  // of KernelBench's files
};

Result<Asked> ReadAsked(BenchCommand& command) {
  command.selection.levels.insert(command.levels.begin(), command.levels.end());
  if (auto checked = CheckCommand(command); !checked) return tl::unexpected(checked.error());
  auto limits = ToLimits(command.search);
  if (!limits) return tl::unexpected(limits.error());
  command.limits = *limits;
  if (auto possible = CheckOutputs(command); !possible) return tl::unexpected(possible.error());
  if (auto options = RunnerOptionsOf(command, ""); !options) {
    return tl::unexpected(options.error());
  }
  Asked asked;
  // First of all: it takes the key out of the environment. Each problem's process begins with its
  // own copy.
  if (command.optimize) {
    auto chosen = MakeProposer(command.proposer);
    if (!chosen) return tl::unexpected(chosen.error());
    asked.proposer = std::move(*chosen);
  }
  auto gates = ReadGates(command);
  if (!gates) return tl::unexpected(gates.error());
  asked.gates = std::move(*gates);
  auto problems = bench::ReadSuite(command.suite, command.selection);
  if (!problems) return tl::unexpected(problems.error());
  asked.problems = std::move(*problems);
  if (!command.results.empty()) {
    auto results = ReadResults(command, asked.problems);
    if (!results) return tl::unexpected(results.error());
    asked.results = std::move(*results);
  }
  if (command.candidates.empty()) return asked;
  std::vector<std::string> unknown;
  auto found = bench::FindCandidates(command.candidates, asked.problems, &unknown);
  if (!found) return tl::unexpected(found.error());
  asked.candidates = std::move(*found);
  if (!unknown.empty()) {
    Say(command, fmt::format("{} files of {} belong to none of the chosen problems, {} among them",
                             unknown.size(), command.candidates, unknown.front()));
  }
  return asked;
}

// Does what is left to do, and keeps rows and kernels as they come.
Result<bench::RunnerEnd> RunAll(const BenchCommand& command, const store::FlagValues& flags,
                                const Asked& asked, const bench::RunnerOptions& options,
                                bench::BenchFolder* folder) {
  auto tasks = TasksOf(command, folder, asked.problems, asked.candidates);
  if (!tasks) return tl::unexpected(tasks.error());
  size_t left = 0;
  for (const bench::Task& task : *tasks) left += task.samples.size();
  const int done = static_cast<int>(folder->rows().size());
  BenchProgress progress(command.output.quiet, done, done + static_cast<int>(left));
  const bench::JobSettings settings =
      SettingsOf(command, flags, folder->folder(), asked.proposer.proposer.get());
  const auto by_key = ByKey(asked.problems);
  bench::RunnerCallbacks callbacks = CallbacksOf(settings);
  callbacks.on_row = [&](bench::Row row) -> Result<void> {
    const bench::Problem& problem = *by_key.at(row.problem);
    progress.OnRow(row);
    if (auto kept = folder->Append(std::move(row)); !kept) return kept;
    return KeepBest(command, *folder, problem, asked.candidates);
  };
  callbacks.on_tick = [&progress](const auto& running) { progress.OnTick(running); };
  const bench::RunnerEnd end = bench::RunTasks(*tasks, options, callbacks);
  // A kill may have come between a row and its kernel.
  for (const bench::Problem& problem : asked.problems) {
    auto kept = KeepBest(command, *folder, problem, asked.candidates);
    if (!kept) return tl::unexpected(kept.error());
  }
  return end;
}

}  // namespace

int RunBench(BenchCommand& command, const store::FlagValues& flags) {
  const bool json = command.output.json;
  auto asked = ReadAsked(command);
  if (!asked) return Report(asked.error(), json);
  auto folder = OpenFolder(command, flags, asked->problems);
  if (!folder) return Report(folder.error(), json);
  auto options = RunnerOptionsOf(command, folder->folder());
  if (!options) return Report(options.error(), json);
  Say(command, "bench folder: " + folder->folder());
  if (command.optimize) Say(command, "proposer: " + asked->proposer.why);
  auto ready = WriteModels(folder->folder(), &asked->problems);
  if (ready && !command.results.empty())
    ready = ImportRows(command, asked->problems, std::move(asked->results), &*folder);
  if (!ready) return Report(ready.error(), json);

  auto end = RunAll(command, flags, *asked, *options, &*folder);
  if (!end) return Report(end.error(), json);
  bench::GateReport report;
  if (!end->interrupted && !end->error) {
    auto judged =
        JudgeGates(command, asked->gates, *folder, [&](const std::vector<bench::Row>& rows) {
          return MeasureAgain(command, *folder, rows, ByKey(asked->problems), asked->candidates,
                              *options);
        });
    if (!judged) return Report(judged.error(), json);
    report = std::move(*judged);
  }
  return EndBench(command, *folder, *end, report);
}

}  // namespace cudaagent::cli
