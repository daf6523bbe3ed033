#include "cli/bench_jobs.h"

#include <set>

#include "bench/best_kernels.h"
#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/signals.h"
#include "prompt/feedback.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

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
  if (command.optimize && !command.search.no_tune) config.tune.mode = evaluate::TuneMode::kAlways;
  return config;
}

// A problem's run folder is one of `optimize`'s: the flags that both know, and the model.
store::RunDescription DescriptionOf(const BenchCommand& command, const store::FlagValues& flags,
                                    const bench::Problem& problem, const ProblemSpec& spec) {
  static const std::set<std::string> kOnlyBench = {"--suite",      "--level",      "--problems",
                                                   "--shard",      "--const-file", "--optimize",
                                                   "--candidates", "--device"};
  store::RunDescription description;
  description.spec = spec;
  description.arguments = command.argv;
  for (const auto& [name, values] : flags) {
    if (!kOnlyBench.contains(name)) description.flags[name] = values;
  }
  description.flags["MODEL"] = {problem.path};
  description.flags["--seed"] = {std::to_string(command.eval.options.seed)};
  for (const auto& [name, value] : problem.consts)
    description.flags["--const"].push_back(name + "=" + value);
  description.recheck = RecheckCommand(spec, command.problem, command.eval);
  description.proposer = command.proposer.proposer;
  description.version = Version();
  return description;
}

}  // namespace

bench::JobSettings SettingsOf(const BenchCommand& command, const store::FlagValues& flags,
                              const std::string& folder, Proposer* proposer) {
  bench::JobSettings settings;
  settings.optimize = command.optimize;
  settings.folder = folder;
  settings.limits = command.limits;
  settings.proposer = proposer;
  settings.config = [&command](const bench::Problem& problem) {
    return ConfigOf(command, problem);
  };
  settings.init = [](const ProblemInfo& problem) { return InitCandidate(problem); };
  settings.feedback = [](const Attempt& attempt) { return prompt::Feedback(attempt.evaluation); };
  settings.description = [&command, flags, proposer](const bench::Problem& problem,
                                                     const ProblemSpec& spec) {
    store::RunDescription description = DescriptionOf(command, flags, problem, spec);
    if (proposer != nullptr) description.proposer = proposer->name();
    return description;
  };
  settings.stop_requested = [] { return StopSignal() != 0; };
  return settings;
}

std::string KernelPathOf(const BenchCommand& command, const bench::BenchFolder& folder,
                         const bench::Problem& problem, const bench::Row& row,
                         const Candidates& candidates) {
  if (command.optimize) return bench::RunFolderOf(folder.folder(), problem) + "/best/kernel.cu";
  const auto found = candidates.find(problem.key);
  if (found == candidates.end()) return "";
  for (const bench::Sample& sample : found->second) {
    if (sample.number == row.sample) return sample.path;
  }
  return "";
}

Result<void> KeepBest(const BenchCommand& command, const bench::BenchFolder& folder,
                      const bench::Problem& problem, const Candidates& candidates) {
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

bench::RunnerCallbacks CallbacksOf(const bench::JobSettings& settings) {
  bench::RunnerCallbacks callbacks;
  callbacks.work = [&settings](const bench::Task& task, const std::string& device,
                               const bench::Voice& voice) {
    bench::DoTask(settings, task, device, voice);
  };
  callbacks.salvage = [&settings](const bench::Task& task, const bench::Sample& sample,
                                  bench::Cause cause, const std::string& words) {
    return bench::SalvageRow(settings, task, sample, cause, words);
  };
  callbacks.on_tick = [](const auto&) {};
  callbacks.stop_signal = [] { return StopSignal(); };
  return callbacks;
}

}  // namespace cudaagent::cli
