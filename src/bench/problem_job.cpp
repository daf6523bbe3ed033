#include "bench/problem_job.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "protocol/evaluation_json.h"
#include "store/run_list.h"
#include "util/file.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::bench {
namespace {

namespace fs = std::filesystem;

// What the evaluator says once its worker is up and the device its own.
constexpr const char* kLoading = "loading the problem";

// An evaluator that could not be started, and whether the problem is what stopped it.
struct NoStart {
  Error error;
  bool while_loading = false;
};

Outcome OutcomeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return Outcome::kCorrect;
    case Verdict::kUnsupported:
      return Outcome::kUnsupported;
    case Verdict::kInfraError:
      return Outcome::kInfraError;
    default:
      return Outcome::kIncorrect;
  }
}

Row Begin(const Task& task, int sample, const std::string& device) {
  Row row = RowOf(task.problem, sample);
  row.device = device;
  return row;
}

Row End(Row row, const util::Stopwatch& watch) {
  row.seconds = watch.Seconds();
  row.date = util::NowIso8601();
  return row;
}

// What these attempts came to. The best one decides; where none is correct, the latest that was
// judged.
void Take(const std::vector<Attempt>& attempts, int best, Row* row) {
  row->attempts = static_cast<int>(attempts.size());
  row->best_attempt = best;
  const Attempt* chosen = best >= 0 ? &attempts[best] : nullptr;
  const Attempt* judged = nullptr;
  for (const Attempt& attempt : attempts) {
    row->usage += attempt.usage;
    ++row->verdicts[std::string(ToString(attempt.judgement().verdict))];
    const Outcome outcome = OutcomeOf(attempt.judgement().verdict);
    const bool better = judged == nullptr || outcome == Outcome::kIncorrect ||
                        OutcomeOf(judged->judgement().verdict) != Outcome::kIncorrect;
    if (better) judged = &attempt;
  }
  if (chosen == nullptr) chosen = judged;
  if (chosen == nullptr) {
    row->outcome = Outcome::kNoCandidate;
    row->message = "Nothing was proposed.";
    return;
  }
  row->outcome = OutcomeOf(chosen->judgement().verdict);
  row->evaluation = chosen->judgement();
  row->message = chosen->judgement().message;
  row->origin = chosen->candidate.origin;
}

tl::expected<std::unique_ptr<Evaluator>, NoStart> StartFor(
    const JobSettings& settings, const Problem& problem, const std::string& device,
    const std::string& log_dir, const Voice& voice, util::Stopwatch* watch) {
  auto config = settings.config(problem);
  if (!config) return tl::unexpected(NoStart{config.error()});
  config->device = device;
  config->log_dir = log_dir;
  if (voice.await_turn) {
    config->await_turn = [&voice, watch] {
      const std::string uuid = voice.await_turn();
      *watch = util::Stopwatch();  // the wait was for others
      return uuid;
    };
  }
  // The evaluator says what it does; what it said last tells where it stood.
  auto last = std::make_shared<std::string>();
  config->progress = [last, begin = voice.begin, say = config->progress](const std::string& line) {
    *last = line;
    if (line == kLoading) begin();
    if (say) say(line);
  };
  auto evaluator = evaluate::StartEvaluator(std::move(*config));
  if (evaluator) return std::move(*evaluator);
  return tl::unexpected(NoStart{evaluator.error(), *last == kLoading});
}

Row NotStarted(Row row, const NoStart& why) {
  row.outcome = why.while_loading && why.error.code != ErrorCode::kInternal
                    ? Outcome::kProblemFailed
                    : Outcome::kInfraError;
  row.message = why.error.message;
  return row;
}

Result<std::unique_ptr<store::RunFolder>> OpenRun(const JobSettings& settings,
                                                  const Problem& problem, const ProblemSpec& spec) {
  const std::string folder = RunFolderOf(settings.folder, problem);
  std::error_code ignored;
  if (fs::exists(folder + "/run.db", ignored)) {
    auto run = store::RunFolder::Resume(folder);
    if (run) {
      if (auto going = (*run)->Continue((*run)->before().description.flags); !going) {
        return tl::unexpected(going.error());
      }
      return run;
    }
    // Stopped before it began: there is nothing in it.
    auto holds = store::ReadRun(folder);
    if (holds) return run;
    fs::remove_all(folder, ignored);
  }
  return store::RunFolder::Create(folder, settings.description(problem, spec));
}

void Optimize(const JobSettings& settings, const Task& task, const std::string& device,
              const Voice& voice) {
  util::Stopwatch watch;
  Row row = Begin(task, task.samples.front().number, device);
  const auto fail = [&](const Error& error) {
    row.message = error.message;
    voice.emit(End(row, watch));
  };
  auto config = settings.config(task.problem);
  if (!config) return fail(config.error());
  const ProblemSpec spec = config->spec;
  auto run = OpenRun(settings, task.problem, spec);
  if (!run) return fail(run.error());
  search::Start start;
  for (const store::StoredAttempt& each : (*run)->before().attempts)
    start.history.push_back(each.attempt);
  start.elapsed_s = (*run)->before().elapsed_s;
  auto evaluator =
      StartFor(settings, task.problem, device, (*run)->folder() + "/logs", voice, &watch);
  if (!evaluator) return voice.emit(End(NotStarted(std::move(row), evaluator.error()), watch));
  if (auto init = settings.init((*evaluator)->problem())) start.init = std::move(*init);

  search::Observer observer;
  observer.feedback = settings.feedback;
  observer.stop_requested = settings.stop_requested;
  const search::Outcome outcome = search::Refine(spec, start, **evaluator, *settings.proposer,
                                                 **run, settings.limits, observer);
  const bool interrupted = outcome.reason == search::StopReason::kInterrupted && !outcome.error;
  Take(outcome.attempts, outcome.best, &row);
  row.stopped = outcome.error ? outcome.error->message : search::ToString(outcome.reason);
  if (outcome.error) {
    row.outcome = Outcome::kInfraError;
    row.message = outcome.error->message;
  }
  const std::string summary = protocol::ToText(ToJson(End(row, watch))) + "\n";
  auto ended = (*run)->End(row.stopped, !outcome.error && !interrupted, outcome.elapsed_s, summary);
  if (interrupted || (outcome.error && outcome.error->code == ErrorCode::kCancelled)) return;
  if (!ended) return fail(ended.error());
  voice.emit(End(std::move(row), watch));
}

// How many candidates beyond the one at hand are being compiled.
constexpr size_t kCompiledAhead = 8;

// The files of a task's samples, read once, a few of them handed to the compiler ahead of their
// turn.
class Sources {
 public:
  explicit Sources(const std::vector<Sample>& samples) : samples_(samples) {}

  const Result<std::string>& Get(size_t i) {
    while (read_.size() <= i)
      read_.push_back(util::ReadFile(samples_[read_.size()].path, 16 << 20));
    return read_[i];
  }
  void CompileAhead(size_t i, Evaluator& evaluator) {
    begun_ = std::max(begun_, i);
    for (; begun_ < std::min(samples_.size(), i + 1 + kCompiledAhead); ++begun_) {
      if (const auto& source = Get(begun_)) {
        Candidate candidate;
        candidate.source = *source;
        evaluator.CompileAhead(candidate);
      }
    }
  }
  // A new evaluator has nothing under way.
  void BeginAnew() { begun_ = 0; }

 private:
  const std::vector<Sample>& samples_;
  std::vector<Result<std::string>> read_;
  size_t begun_ = 0;
};

void JudgeSamples(const JobSettings& settings, const Task& task, const std::string& device,
                  const Voice& voice) {
  util::Stopwatch watch;
  auto evaluator = StartFor(settings, task.problem, device,
                            settings.folder + "/logs/" + task.problem.key, voice, &watch);
  Sources sources(task.samples);
  for (size_t i = 0; i < task.samples.size(); ++i) {
    const Sample& sample = task.samples[i];
    if (settings.stop_requested()) return;
    Row row = Begin(task, sample.number, device);
    if (!evaluator) {
      voice.emit(End(NotStarted(std::move(row), evaluator.error()), watch));
      continue;
    }
    sources.CompileAhead(i, **evaluator);
    const Result<std::string>& source = sources.Get(i);
    if (!source) {
      row.outcome = Outcome::kNoCandidate;
      row.message = source.error().message;
      voice.emit(End(std::move(row), watch));
      continue;
    }
    Attempt attempt;
    attempt.candidate.source = *source;
    attempt.candidate.origin = sample.path;
    auto evaluation = (*evaluator)->Evaluate(attempt.candidate);
    if (evaluation) {
      attempt.evaluation = std::move(*evaluation);
      Take({attempt}, attempt.evaluation.verdict == Verdict::kOk ? 0 : -1, &row);
    } else {
      row.message = evaluation.error().message;
    }
    voice.emit(End(std::move(row), watch));
    watch = util::Stopwatch();
    // The samples that are left get a worker of their own.
    if (!evaluation) {
      evaluator->reset();
      sources.BeginAnew();
      evaluator = StartFor(settings, task.problem, device,
                           settings.folder + "/logs/" + task.problem.key, voice, &watch);
    }
  }
}

}  // namespace

std::string RunFolderOf(const std::string& bench_folder, const Problem& problem) {
  return bench_folder + "/problems/" + problem.key;
}

void DoTask(const JobSettings& settings, const Task& task, const std::string& device,
            const Voice& voice) {
  if (settings.optimize) return Optimize(settings, task, device, voice);
  JudgeSamples(settings, task, device, voice);
}

Row SalvageRow(const JobSettings& settings, const Task& task, const Sample& sample, Cause cause,
               const std::string& words) {
  Row row = RowOf(task.problem, sample.number);
  row.date = util::NowIso8601();
  if (settings.optimize) {
    if (auto run = store::ReadRun(RunFolderOf(settings.folder, task.problem))) {
      std::vector<Attempt> attempts;
      for (const store::StoredAttempt& each : run->attempts) attempts.push_back(each.attempt);
      const store::StoredAttempt* best = run->best();
      Take(attempts, best == nullptr ? -1 : best->attempt.number, &row);
    }
  }
  row.stopped = words;
  // A kernel that was found correct before the end is the problem's result.
  if (cause != Cause::kDied && row.correct()) return row;
  row.message = words;
  switch (cause) {
    case Cause::kTimeout:
      row.outcome = Outcome::kTimedOut;
      break;
    case Cause::kMemory:
      row.outcome = Outcome::kProblemFailed;
      break;
    case Cause::kDied:
      row.outcome = Outcome::kInfraError;
      break;
  }
  return row;
}

}  // namespace cudaagent::bench
