// cudaagent bench: many problems, a row each, and their scores.
#include "cli/bench.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "bench/best_kernels.h"
#include "bench/kernelbench_files.h"
#include "bench/problem_job.h"
#include "bench/process_tree.h"
#include "bench/runner.h"
#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/bench_progress.h"
#include "cli/commands.h"
#include "cli/duration.h"
#include "cli/preset.h"
#include "cli/recorded_flags.h"
#include "cli/signals.h"
#include "prompt/feedback.h"
#include "store/run_list.h"
#include "util/file.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

// What each call says anew; everything else that was given is the bench's and recorded.
const std::set<std::string> kOfTheCall = {"--jobs", "--problem-timeout", "--memory-limit", "--max-infra-errors",
                                          "--fast-p", "--pass-k", "--csv", "--junit", "--md",
                                          "--fail-under", "--against", "--margin", "--kernelbench-out"};

void Say(const BenchCommand& command, const std::string& line) {
  if (!command.output.quiet) std::fprintf(stderr, "%s\n", util::SanitiseLog(line).c_str());
}

store::FlagValues RecordedFlags(const CLI::App& sub) {
  store::FlagValues flags = GivenFlags(sub);
  for (const std::string& name : kOfTheCall) flags.erase(name);
  return flags;
}

// --- one problem -------------------------------------------------------------------------------

Result<ProblemSpec> SpecOf(const BenchCommand& command, const bench::Problem& problem) {
  ProblemFlags flags = command.problem;
  flags.model_path = problem.path;
  for (const auto& [name, value] : problem.consts) flags.consts.push_back(name + "=" + value);
  auto spec = ToSpec(flags);
  if (spec && spec->source != problem.source) {
    return Fail(ErrorCode::kUsage, problem.path + " has changed since the bench began.");
  }
  return spec;
}

Result<evaluate::Config> ConfigOf(const BenchCommand& command, const bench::Problem& problem) {
  auto spec = SpecOf(command, problem);
  if (!spec) return tl::unexpected(spec.error());
  evaluate::Config config = ToConfig(*spec, command.eval, OutputFlags{});
  if (command.optimize && !command.no_tune) config.tune.mode = evaluate::TuneMode::kAlways;
  return config;
}

// A problem's run folder is one of `optimize`'s: the flags that both know, and the model.
store::RunDescription DescriptionOf(const BenchCommand& command, const store::FlagValues& flags,
                                    const bench::Problem& problem, const ProblemSpec& spec) {
  static const std::set<std::string> kOnlyBench = {"--suite", "--level", "--problems", "--shard", "--const-file",
                                                   "--optimize", "--candidates", "--device"};
  store::RunDescription description;
  description.spec = spec;
  description.arguments = command.argv;
  for (const auto& [name, values] : flags) {
    if (!kOnlyBench.contains(name)) description.flags[name] = values;
  }
  description.flags["MODEL"] = {problem.path};
  description.flags["--seed"] = {std::to_string(command.eval.options.seed)};
  for (const auto& [name, value] : problem.consts) description.flags["--const"].push_back(name + "=" + value);
  description.recheck = RecheckCommand(spec, command.problem, command.eval);
  description.proposer = command.proposer.proposer;
  description.version = Version();
  return description;
}

bench::JobSettings SettingsOf(const BenchCommand& command, const store::FlagValues& flags, const std::string& folder,
                              Proposer* proposer) {
  bench::JobSettings settings;
  settings.optimize = command.optimize;
  settings.folder = folder;
  settings.limits = command.limits;
  settings.proposer = proposer;
  settings.config = [&command](const bench::Problem& problem) { return ConfigOf(command, problem); };
  settings.init = [](const ProblemInfo& problem) { return InitCandidate(problem); };
  settings.feedback = [](const Attempt& attempt) { return prompt::Feedback(attempt.evaluation); };
  settings.description = [&command, flags, proposer](const bench::Problem& problem, const ProblemSpec& spec) {
    store::RunDescription description = DescriptionOf(command, flags, problem, spec);
    if (proposer != nullptr) description.proposer = proposer->name();
    return description;
  };
  settings.stop_requested = [] { return StopSignal() != 0; };
  return settings;
}

// --- best kernels ------------------------------------------------------------------------------

// Where the kernel of a correct row lies; "" = gone.
std::string KernelPathOf(const BenchCommand& command, const bench::BenchFolder& folder, const bench::Problem& problem,
                         const bench::Row& row, const std::map<std::string, std::vector<bench::Sample>>& candidates) {
  if (command.optimize) return bench::RunFolderOf(folder.folder(), problem) + "/best/kernel.cu";
  const auto found = candidates.find(problem.key);
  if (found == candidates.end()) return "";
  for (const bench::Sample& sample : found->second) {
    if (sample.number == row.sample) return sample.path;
  }
  return "";
}

// Writes best/<key>.cu of a problem from the best of its rows. A kernel that is gone is no reason to fail.
Result<void> KeepBest(const BenchCommand& command, const bench::BenchFolder& folder, const bench::Problem& problem,
                      const std::map<std::string, std::vector<bench::Sample>>& candidates) {
  const bench::Row* best = nullptr;
  for (const bench::Row& row : folder.rows()) {
    if (row.problem != problem.key || !row.correct() || !row.evaluation) continue;
    if (best == nullptr || search::Better(*row.evaluation, *best->evaluation)) best = &row;
  }
  if (best == nullptr) return {};
  bench::BestKernel kernel;
  const std::string path = KernelPathOf(command, folder, problem, *best, candidates);
  if (path.empty()) return {};
  if (command.optimize) {
    kernel.run = bench::RunFolderOf(folder.folder(), problem);
    kernel.attempt = best->best_attempt;
  }
  auto source = util::ReadFile(path, 16 << 20);
  auto config = ConfigOf(command, problem);
  if (!source || !config) return {};
  kernel.spec = config->spec;
  kernel.options = config->options;
  kernel.reward = config->reward;
  kernel.baseline = config->baseline;
  kernel.evaluation = *best->evaluation;
  kernel.source = std::move(*source);
  kernel.origin = best->origin;
  kernel.version = Version();
  return bench::WriteBest(folder.folder() + "/best", problem.key, kernel);
}

// --- the whole ---------------------------------------------------------------------------------

// model.py files of a suite that is one file, so that the worker finds them.
Result<void> WriteModels(const std::string& folder, std::vector<bench::Problem>* problems) {
  for (bench::Problem& problem : *problems) {
    if (!problem.path.empty()) continue;
    problem.path = folder + "/models/" + problem.key + ".py";
    const std::string parent = problem.path.substr(0, problem.path.rfind('/'));
    if (auto made = util::MakeDirs(parent); !made) return made;
    if (auto written = util::WriteFileAtomic(problem.path, problem.source); !written) return written;
  }
  return {};
}

Result<bench::BenchFolder> OpenFolder(BenchCommand& command, const store::FlagValues& flags,
                                      const std::vector<bench::Problem>& problems) {
  if (command.resume.empty()) {
    if (command.eval.options.seed == 0) {
      std::random_device random;
      command.eval.options.seed = (uint64_t{random()} << 32 | random()) | 1;
    }
    bench::Description description;
    description.flags = flags;
    description.arguments = command.argv;
    description.suite = command.suite;
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
    const bool same = i < before.size() && i < problems.size() && before[i].key == problems[i].key &&
                      before[i].sha256 == problems[i].sha256 && before[i].consts == problems[i].consts;
    if (same) continue;
    return Fail(ErrorCode::kUsage, "The suite has changed since the bench began: " +
                                       (i < before.size() ? before[i].key : problems[i].key) +
                                       " is not what it was. Put it back, or start a new bench.");
  }
  return folder;
}

// Rows of KernelBench's file; a problem it does not hold gets one that says so.
Result<void> ImportRows(const BenchCommand& command, const std::vector<bench::Problem>& problems,
                        bench::BenchFolder* folder) {
  auto eager = bench::ReadBaselineTimes(command.eager_times);
  if (!eager) return tl::unexpected(eager.error());
  auto compiled = bench::ReadBaselineTimes(command.compile_times);
  if (!compiled) return tl::unexpected(compiled.error());
  int unknown = 0;
  auto rows = bench::ReadEvalResults(command.results, problems, *eager, *compiled, &unknown);
  if (!rows) return tl::unexpected(rows.error());
  if (unknown > 0) Say(command, fmt::format("{} problems of {} are none of the chosen ones", unknown, command.results));
  std::set<std::pair<std::string, int>> done;
  for (const bench::Row& row : folder->rows()) done.emplace(row.problem, row.sample);
  std::set<std::string> known;
  for (bench::Row& row : *rows) {
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
                                         const std::map<std::string, std::vector<bench::Sample>>& candidates) {
  std::set<std::pair<std::string, int>> done;
  for (const bench::Row& row : folder->rows()) done.emplace(row.problem, row.sample);
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

int EndBench(const BenchCommand& command, const bench::BenchFolder& folder, const bench::RunnerEnd& end,
             const bench::GateReport& gates) {
  auto written = WriteOutputs(command, folder, gates);
  const std::string go_on = "Go on with: cudaagent bench --resume " + folder.folder();
  if (end.error) return Report(*end.error, false);
  if (!written) return Report(written.error(), false);
  if (end.interrupted) {
    Say(command, "interrupted; " + go_on);
    return 128 + StopSignal();
  }
  if (!end.sick.empty()) {
    return Report({ErrorCode::kEnvironment, fmt::format("{} was given up after {} infrastructure errors in a row. Look "
                                                        "at {}/logs, mend it, then: cudaagent bench --resume {}",
                                                        util::Join(end.sick, ", "), command.max_infra_errors,
                                                        folder.folder(), folder.folder())},
                  false);
  }
  for (const bench::Row& row : folder.rows()) {
    if (row.outcome != bench::Outcome::kInfraError) continue;
    return Report({ErrorCode::kEnvironment, row.problem + " failed through no fault of a candidate: " + row.message +
                                                "\n" + go_on + " does such rows again."},
                  false);
  }
  return gates.failed() ? kExitGate : kExitOk;
}

Result<bench::RunnerOptions> RunnerOptionsOf(const BenchCommand& command, const std::string& folder) {
  bench::RunnerOptions options;
  auto devices = BenchDevices(command.eval.device, command.jobs);
  if (!devices) return tl::unexpected(devices.error());
  options.devices = std::move(*devices);
  auto timeout = ParseDuration(command.problem_timeout);
  if (!timeout) return tl::unexpected(timeout.error());
  options.problem_timeout_s = *timeout;
  options.memory_bytes = bench::MachineMemory() / 10 * 9;
  if (!command.memory_limit.empty()) {
    auto bytes = ParseSize(command.memory_limit);
    if (!bytes) return tl::unexpected(bytes.error());
    options.memory_bytes = *bytes;
  }
  options.max_infra_errors = command.max_infra_errors;
  options.log_folder = folder + "/logs";
  return options;
}

// The kernels of these rows, judged once more in fresh workers.
std::vector<bench::Row> MeasureAgain(const BenchCommand& command, const bench::BenchFolder& folder,
                                     const std::vector<bench::Row>& rows,
                                     const std::map<std::string, const bench::Problem*>& problems,
                                     const std::map<std::string, std::vector<bench::Sample>>& candidates,
                                     const bench::RunnerOptions& options) {
  BenchCommand scoring = command;
  scoring.optimize = false;
  std::vector<bench::Task> tasks;
  for (const bench::Row& row : rows) {
    Say(command, "measuring " + row.problem + " again: it is slower than before");
    const std::string path = KernelPathOf(command, folder, *problems.at(row.problem), row, candidates);
    tasks.push_back({*problems.at(row.problem), {{row.sample, path}}});
  }
  const bench::JobSettings settings = SettingsOf(scoring, {}, folder.folder(), nullptr);
  std::vector<bench::Row> again;
  bench::RunnerCallbacks callbacks;
  callbacks.work = [&settings](const bench::Task& task, const std::string& device,
                               const std::function<void(bench::Row)>& emit) {
    bench::DoTask(settings, task, device, emit);
  };
  callbacks.salvage = [&settings](const bench::Task& task, const bench::Sample& sample, bench::Cause cause,
                                  const std::string& words) {
    return bench::SalvageRow(settings, task, sample, cause, words);
  };
  callbacks.on_row = [&again](bench::Row row) -> Result<void> {
    again.push_back(std::move(row));
    return {};
  };
  callbacks.on_tick = [](const auto&) {};
  callbacks.stop_signal = [] { return StopSignal(); };
  bench::RunTasks(tasks, options, callbacks);
  return again;
}

Result<void> ReadLimits(BenchCommand& command) {
  if (command.max_tokens_total > 0) command.limits.max_tokens = command.max_tokens_total;
  if (command.target_speedup > 0) command.limits.target_speedup = command.target_speedup;
  if (command.max_time.empty()) return {};
  auto seconds = ParseDuration(command.max_time);
  if (!seconds) return tl::unexpected(seconds.error());
  command.limits.max_seconds = *seconds;
  return {};
}

Result<void> CheckCommand(const BenchCommand& command) {
  if (command.suite.empty()) {
    return Fail(ErrorCode::kUsage, "bench needs --suite: a KernelBench checkout, a folder of model.py files or a JSONL "
                                   "export; or --resume DIR to go on with a bench.");
  }
  const int modes = (command.optimize ? 1 : 0) + (command.candidates.empty() ? 0 : 1) + (command.results.empty() ? 0 : 1);
  if (modes != 1) {
    return Fail(ErrorCode::kUsage, "Say what to score: --optimize asks a proposer for each problem, --candidates DIR "
                                   "takes the .cu files of a folder, --results FILE takes what KernelBench's evaluator "
                                   "found. Give one of the three.");
  }
  if (command.proposer.proposer == "replay" || !command.proposer.replay.empty()) {
    return Fail(ErrorCode::kUsage, "bench replays nothing: a recording is one run's. Replay its runs one by one: "
                                   "cudaagent replay DIR/problems/LEVEL/PROBLEM");
  }
  return {};
}

int RunBench(BenchCommand& command, const store::FlagValues& flags) {
  const bool json = command.output.json;
  command.selection.levels.insert(command.levels.begin(), command.levels.end());
  if (auto checked = CheckCommand(command); !checked) return Report(checked.error(), json);
  if (auto limits = ReadLimits(command); !limits) return Report(limits.error(), json);
  // First of all: it takes the key out of the environment. Each problem's process begins with its own copy.
  ChosenProposer proposer;
  if (command.optimize) {
    auto chosen = MakeProposer(command.proposer);
    if (!chosen) return Report(chosen.error(), json);
    proposer = std::move(*chosen);
  }
  auto gates = ReadGates(command);
  if (!gates) return Report(gates.error(), json);
  auto problems = bench::ReadSuite(command.suite, command.selection);
  if (!problems) return Report(problems.error(), json);
  std::map<std::string, std::vector<bench::Sample>> candidates;
  if (!command.candidates.empty()) {
    std::vector<std::string> unknown;
    auto found = bench::FindCandidates(command.candidates, *problems, &unknown);
    if (!found) return Report(found.error(), json);
    candidates = std::move(*found);
    if (!unknown.empty()) {
      Say(command, fmt::format("{} files of {} belong to none of the chosen problems, {} among them", unknown.size(),
                               command.candidates, unknown.front()));
    }
  }
  if (auto options = RunnerOptionsOf(command, ""); !options) return Report(options.error(), json);
  auto folder = OpenFolder(command, flags, *problems);
  if (!folder) return Report(folder.error(), json);
  Say(command, "bench folder: " + folder->folder());
  if (command.optimize) Say(command, "proposer: " + proposer.why);
  if (auto written = WriteModels(folder->folder(), &*problems); !written) return Report(written.error(), json);
  if (!command.results.empty()) {
    if (auto imported = ImportRows(command, *problems, &*folder); !imported) return Report(imported.error(), json);
  }
  auto tasks = TasksOf(command, &*folder, *problems, candidates);
  if (!tasks) return Report(tasks.error(), json);
  auto options = RunnerOptionsOf(command, folder->folder());

  size_t left = 0;
  std::map<std::string, const bench::Problem*> by_key;
  for (const bench::Task& task : *tasks) left += task.samples.size();
  for (const bench::Problem& problem : *problems) by_key[problem.key] = &problem;
  const bench::JobSettings settings = SettingsOf(command, flags, folder->folder(), proposer.proposer.get());
  BenchProgress progress(command.output.quiet, static_cast<int>(folder->rows().size()),
                         static_cast<int>(folder->rows().size() + left));
  bench::RunnerCallbacks callbacks;
  callbacks.work = [&settings](const bench::Task& task, const std::string& device,
                               const std::function<void(bench::Row)>& emit) {
    bench::DoTask(settings, task, device, emit);
  };
  callbacks.salvage = [&settings](const bench::Task& task, const bench::Sample& sample, bench::Cause cause,
                                  const std::string& words) {
    return bench::SalvageRow(settings, task, sample, cause, words);
  };
  callbacks.on_row = [&](bench::Row row) -> Result<void> {
    const bench::Problem& problem = *by_key.at(row.problem);
    progress.OnRow(row);
    if (auto kept = folder->Append(std::move(row)); !kept) return kept;
    return KeepBest(command, *folder, problem, candidates);
  };
  callbacks.on_tick = [&progress](const auto& running) { progress.OnTick(running); };
  callbacks.stop_signal = [] { return StopSignal(); };
  const bench::RunnerEnd end = bench::RunTasks(*tasks, *options, callbacks);
  // A kill may have come between a row and its kernel.
  for (const bench::Problem& problem : *problems) {
    if (auto kept = KeepBest(command, *folder, problem, candidates); !kept) return Report(kept.error(), json);
  }
  bench::GateReport report;
  if (!end.interrupted && !end.error) {
    auto judged = JudgeGates(command, *gates, *folder, [&](const std::vector<bench::Row>& rows) {
      return MeasureAgain(command, *folder, rows, by_key, candidates, *options);
    });
    if (!judged) return Report(judged.error(), json);
    report = std::move(*judged);
  }
  return EndBench(command, *folder, end, report);
}

void AddSearchFlags(CLI::App& sub, BenchCommand& command) {
  sub.add_option("-n,--attempts", command.limits.attempts, "Proposals to evaluate, for each problem")
      ->envname("CUDAAGENT_ATTEMPTS")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  sub.add_option("--patience", command.limits.patience, "Stop after this many without a new best; 0 = never")
      ->envname("CUDAAGENT_PATIENCE")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  sub.add_option("--target-speedup", command.target_speedup, "Stop at this speedup over the deciding baseline")
      ->envname("CUDAAGENT_TARGET_SPEEDUP")
      ->check(Within(0.001, 1e6));
  sub.add_option("--max-time", command.max_time, "Start no proposal for a problem after this: 90s, 10m, 2h")
      ->envname("CUDAAGENT_MAX_TIME");
  sub.add_option("--max-tokens-total", command.max_tokens_total, "Tokens that each problem's questions and answers may have")
      ->envname("CUDAAGENT_MAX_TOKENS_TOTAL")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub.add_flag("--no-tune", command.no_tune, "Judge candidates at their default tune values only")
      ->envname("CUDAAGENT_NO_TUNE");
}

void AddSuiteFlags(CLI::App& sub, BenchCommand& command) {
  sub.add_option("--suite", command.suite,
                 "The problems: a KernelBench checkout, a folder of model.py files, or a JSONL export of the data set")
      ->type_name("PATH");
  sub.add_option("--level", command.levels, "Levels of the suite, e.g. 1,2; default all")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  sub.add_option("--problems", command.selection.problems, "Ids and ranges (1-20,40) or names; default all");
  sub.add_option("--shard", command.selection.shard, "i/N: every N-th problem from the i-th, e.g. 1/4")->type_name("i/N");
  sub.add_option("--const-file", command.selection.const_file,
                 "Constants by problem, e.g. {\"softmax\": {\"dim\": 64}}: small sizes for the CPU device")
      ->type_name("PATH");
  sub.add_flag("--optimize", command.optimize, "Search for a kernel for each problem, as `optimize` does");
  sub.add_option("--candidates", command.candidates,
                 "Score the .cu files of this folder: level_1_problem_3_sample_0_kernel.cu, or PROBLEM.cu and "
                 "PROBLEM_sample_2.cu")
      ->type_name("PATH");
  sub.add_option("--results", command.results,
                 "Score KernelBench's own eval_results.json of one --level; nothing is run")
      ->type_name("PATH");
  sub.add_option("--eager-times", command.eager_times, "With --results: KernelBench's baseline_time_torch.json")
      ->type_name("PATH");
  sub.add_option("--compile-times", command.compile_times,
                 "With --results: KernelBench's baseline_time_torch_compile_inductor_default.json")
      ->type_name("PATH");
}

void AddRunFlags(CLI::App& sub, BenchCommand& command) {
  sub.add_option("-o,--out", command.out, "Bench folder; default runs/bench-<date>-<id>")->envname("CUDAAGENT_OUT");
  sub.add_option("--resume", command.resume,
                 "Go on with a bench that was stopped or killed: its folder. What is scored comes from there; rows of "
                 "infrastructure errors are done again");
  sub.add_option("-j,--jobs", command.jobs, "Problems at a time on the CPU device; a GPU takes one")
      ->envname("CUDAAGENT_JOBS")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  sub.add_option("--problem-timeout", command.problem_timeout, "A problem is killed after this: 90s, 10m, 2h")
      ->envname("CUDAAGENT_PROBLEM_TIMEOUT")
      ->capture_default_str();
  sub.add_option("--memory-limit", command.memory_limit,
                 "A problem whose processes take more memory is killed: 8GB, 64GiB; default nine tenths of the machine's")
      ->envname("CUDAAGENT_MEMORY_LIMIT");
  sub.add_option("--max-infra-errors", command.max_infra_errors,
                 "Give a device up after this many infrastructure errors in a row")
      ->envname("CUDAAGENT_MAX_INFRA_ERRORS")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

void AddOutputFiles(CLI::App& sub, BenchCommand& command) {
  sub.add_option("--fast-p", command.p, "The p of fast_p; default 0,0.5,0.8,1,1.5,2")
      ->delimiter(',')
      ->check(Within(0.0, 1e6));
  sub.add_option("--pass-k", command.k, "The k of pass@k; default 1,5,10")->delimiter(',')->check(CLI::Range(1, 100000));
  sub.add_option("--csv", command.csv, "Write the rows as CSV")->type_name("PATH");
  sub.add_option("--junit", command.junit, "Write JUnit XML: a suite a level, a case a row")->type_name("PATH");
  sub.add_option("--md", command.md, "Write a Markdown summary; where GITHUB_STEP_SUMMARY is set, that file gets it too")
      ->type_name("PATH");
  sub.add_option("--kernelbench-out", command.kernelbench_out,
                 "Write KernelBench's own files below this folder: levelN/eval_results.json, baseline times, pass@k")
      ->type_name("PATH");
  sub.add_option("--fail-under", command.fail_under,
                 "Exit 5 where a score is lower: fast_1=0.6, geomean=1.2, correctness=0.9, pass@5=0.5; several")
      ->type_name("SCORE=NUMBER")
      ->allow_extra_args(false);
  sub.add_option("--against", command.against,
                 "Exit 5 where a problem that was correct in this bench (its folder, report.json or rows.jsonl) is not "
                 "any more, or is slower")
      ->type_name("PATH");
  sub.add_option("--margin", command.margin,
                 "Slower by up to this share is not; 3 sigma of the measurement where that is more. Estimates are exact")
      ->check(Within(0.0, 1.0))
      ->capture_default_str();
  AddOutputFlags(sub, command.output);
}

CLI::App* AddBenchFlags(CLI::App& app, BenchCommand& command) {
  CLI::App* sub = app.add_subcommand("bench", "Optimize or score many problems: fast_p, pass@k, one row for each");
  AddSuiteFlags(*sub, command);
  AddProblemFlags(*sub, command.problem);
  for (const char* other : {"MODEL", "--const"}) sub->remove_option(sub->get_option(other));
  AddSearchFlags(*sub, command);
  AddProposerFlags(*sub, command.proposer);
  sub->remove_option(sub->get_option("--replay"));
  AddEvalFlags(*sub, command.eval);
  for (const char* other : {"--device", "--also-const"}) sub->remove_option(sub->get_option(other));
  sub->add_option("--device,--devices", command.eval.device,
                  "auto, cpu, gpu, gpu:N, several (gpu:0,gpu:1), or all: every GPU, one problem each at a time")
      ->envname("CUDAAGENT_DEVICE")
      ->capture_default_str();
  AddTuneFlags(*sub, command.eval);
  AddRunFlags(*sub, command);
  AddOutputFiles(*sub, command);
  return sub;
}

// Takes what the bench was started with, and of this call what says how to run, what to write and when to stop.
int Resume(const BenchCommand& asked, const CLI::App& sub, const store::FlagValues& given) {
  const bool json = asked.output.json;
  if (!asked.out.empty()) {
    return Report({ErrorCode::kUsage, "--out and --resume exclude each other: a bench stays in its folder."}, json);
  }
  auto stored = bench::ReadBench(asked.resume);
  if (!stored) return Report(stored.error(), json);
  auto resumed = ResumedFlags(sub, stored->description.flags, given);
  if (!resumed) return Report(resumed.error(), json);
  const store::FlagValues& flags = *resumed;
  CLI::App app;
  BenchCommand recorded;
  const CLI::App* parsed = AddBenchFlags(app, recorded);
  std::vector<std::string> words = Words(flags);
  words.insert(words.begin(), "bench");
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return Report({ErrorCode::kUsage, std::string("The bench was started with flags that this version does not take: ") +
                                          error.what() + "."},
                  json);
  }
  ApplyPreset(*parsed, recorded.problem, recorded.eval);
  recorded.argv = asked.argv;
  recorded.resume = asked.resume;
  recorded.jobs = asked.jobs;
  recorded.problem_timeout = asked.problem_timeout;
  recorded.memory_limit = asked.memory_limit;
  recorded.max_infra_errors = asked.max_infra_errors;
  recorded.p = asked.p;
  recorded.k = asked.k;
  recorded.csv = asked.csv;
  recorded.junit = asked.junit;
  recorded.md = asked.md;
  recorded.fail_under = asked.fail_under;
  recorded.against = asked.against;
  recorded.margin = asked.margin;
  recorded.kernelbench_out = asked.kernelbench_out;
  recorded.output = asked.output;
  return RunBench(recorded, flags);
}

}  // namespace

Command AddBench(CLI::App& app, const std::vector<std::string>& argv) {
  auto command = std::make_shared<BenchCommand>();
  command->argv = argv;
  const CLI::App* sub = AddBenchFlags(app, *command);
  return [command, sub] {
    ApplyPreset(*sub, command->problem, command->eval);
    const store::FlagValues flags = RecordedFlags(*sub);
    return command->resume.empty() ? RunBench(*command, flags) : Resume(*command, *sub, flags);
  };
}

}  // namespace cudaagent::cli
