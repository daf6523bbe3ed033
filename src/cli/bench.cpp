// cudaagent bench: many problems, a row each, and their scores.
#include "cli/bench.h"

#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/preset.h"
#include "cli/recorded_flags.h"

namespace cudaagent::cli {
namespace {

// What each call says anew; everything else that was given is the bench's and recorded.
const std::set<std::string> kOfTheCall = {"--jobs",
                                          "--problem-timeout",
                                          "--memory-limit",
                                          "--max-infra-errors",
                                          "--fast-p",
                                          "--pass-k",
                                          "--csv",
                                          "--junit",
                                          "--md",
                                          "--fail-under",
                                          "--against",
                                          "--margin",
                                          "--kernelbench-out"};

store::FlagValues RecordedFlags(const CLI::App& sub) {
  store::FlagValues flags = GivenFlags(sub);
  for (const std::string& name : kOfTheCall) flags.erase(name);
  return flags;
}

void AddSuiteFlags(CLI::App& sub, BenchCommand& command) {
  sub.add_option("--suite", command.suite,
                 "The problems: a KernelBench checkout, a folder of model.py files, or a JSONL "
                 "export of the data set")
      ->type_name("PATH");
  sub.add_option("--level", command.levels, "Levels of the suite, e.g. 1,2; default all")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  sub.add_option("--problems", command.selection.problems,
                 "Ids and ranges (1-20,40) or names; default all");
  sub.add_option("--shard", command.selection.shard,
                 "i/N: every N-th problem from the i-th, e.g. 1/4")
      ->type_name("i/N");
  sub.add_option(
         "--const-file", command.selection.const_file,
         "Constants by problem, e.g. {\"softmax\": {\"dim\": 64}}: small sizes for the CPU device")
      ->type_name("PATH");
  sub.add_flag("--optimize", command.optimize,
               "Search for a kernel for each problem, as `optimize` does");
  sub.add_option("--candidates", command.candidates,
                 "Score the .cu files of this folder: level_1_problem_3_sample_0_kernel.cu, or "
                 "PROBLEM.cu and "
                 "PROBLEM_sample_2.cu")
      ->type_name("PATH");
  sub.add_option("--results", command.results,
                 "Score KernelBench's own eval_results.json of one --level; nothing is run")
      ->type_name("PATH");
  sub.add_option("--eager-times", command.eager_times,
                 "With --results: KernelBench's baseline_time_torch.json")
      ->type_name("PATH");
  sub.add_option("--compile-times", command.compile_times,
                 "With --results: KernelBench's baseline_time_torch_compile_inductor_default.json")
      ->type_name("PATH");
}

void AddRunFlags(CLI::App& sub, BenchCommand& command) {
  sub.add_option("-o,--out", command.out, "Bench folder; default runs/bench-<date>-<id>")
      ->envname("CUDAAGENT_OUT");
  sub.add_option("--resume", command.resume,
                 "Go on with a bench that was stopped or killed: its folder. What is scored comes "
                 "from there; rows of "
                 "infrastructure errors are done again");
  sub.add_option("-j,--jobs", command.jobs, "Problems at a time on the CPU device; a GPU takes one")
      ->envname("CUDAAGENT_JOBS")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  sub.add_option("--problem-timeout", command.problem_timeout,
                 "A problem is killed after this: 90s, 10m, 2h")
      ->envname("CUDAAGENT_PROBLEM_TIMEOUT")
      ->capture_default_str();
  sub.add_option("--memory-limit", command.memory_limit,
                 "A problem whose processes take more memory is killed: 8GB, 64GiB; default nine "
                 "tenths of the machine's")
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
  sub.add_option("--pass-k", command.k, "The k of pass@k; default 1,5,10")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000));
  sub.add_option("--csv", command.csv, "Write the rows as CSV; - is stdout, for one of these")
      ->type_name("PATH");
  sub.add_option("--junit", command.junit, "Write JUnit XML: a suite a level, a case a row")
      ->type_name("PATH");
  sub.add_option(
         "--md", command.md,
         "Write a Markdown summary; where GITHUB_STEP_SUMMARY is set, that file gets it too")
      ->type_name("PATH");
  sub.add_option("--kernelbench-out", command.kernelbench_out,
                 "Write KernelBench's own files below this folder: levelN/eval_results.json, "
                 "baseline times, pass@k")
      ->type_name("PATH");
  sub.add_option("--fail-under", command.fail_under,
                 "Exit 5 where a score is lower: fast_1=0.6, geomean=1.2, geomean_sol=0.5, "
                 "correctness=0.9, pass@5=0.5; several")
      ->type_name("SCORE=NUMBER")
      ->allow_extra_args(false);
  sub.add_option("--against", command.against,
                 "Exit 5 where a problem that was correct in this bench (its folder, report.json "
                 "or rows.jsonl) is not "
                 "any more, or is slower")
      ->type_name("PATH");
  sub.add_option("--margin", command.margin,
                 "Slower by up to this share is not; 3 sigma of the measurement where that is "
                 "more. Estimates are exact")
      ->check(Within(0.0, 1.0))
      ->capture_default_str();
  AddOutputFlags(sub, command.output);
}

CLI::App* AddBenchFlags(CLI::App& app, BenchCommand& command) {
  CLI::App* sub = app.add_subcommand(
      "bench", "Optimize or score many problems: fast_p, pass@k, one row for each");
  AddSuiteFlags(*sub, command);
  AddProblemFlags(*sub, command.problem);
  for (const char* other : {"MODEL", "--const"}) sub->remove_option(sub->get_option(other));
  AddSearchFlags(*sub, command.search);
  AddProposerFlags(*sub, command.proposer);
  sub->remove_option(sub->get_option("--replay"));
  AddEvalFlags(*sub, command.eval);
  for (const char* other : {"--device", "--also-const"}) sub->remove_option(sub->get_option(other));
  sub->add_option("--device,--devices", command.eval.device,
                  "auto, cpu, gpu, gpu:N, several (gpu:0,gpu:1), or all: every GPU, one problem "
                  "each at a time")
      ->envname("CUDAAGENT_DEVICE")
      ->capture_default_str();
  AddTuneFlags(*sub, command.eval);
  AddRunFlags(*sub, command);
  AddOutputFiles(*sub, command);
  return sub;
}

// Takes what the bench was started with, and of this call what says how to run, what to write and
// when to stop.
int Resume(const BenchCommand& asked, const CLI::App& sub, const store::FlagValues& given) {
  const bool json = asked.output.json;
  if (!asked.out.empty()) {
    return Report(
        {ErrorCode::kUsage, "--out and --resume exclude each other: a bench stays in its folder."},
        json);
  }
  auto stored = bench::ReadBench(asked.resume);
  if (!stored) return Report(stored.error(), json);
  auto resumed = ResumedFlags(sub, stored->description.flags, given);
  if (!resumed) return Report(resumed.error(), json);
  const store::FlagValues& flags = *resumed;
  CLI::App app;
  BenchCommand recorded;
  const CLI::App* parsed = AddBenchFlags(app, recorded);
  if (auto read = ParseRecorded("bench", flags, app); !read) return Report(read.error(), json);
  ApplyPreset(*parsed, recorded.problem, recorded.eval);
  recorded.argv = asked.argv;
  static_cast<BenchCallFlags&>(recorded) = asked;
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
