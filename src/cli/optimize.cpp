// cudaagent optimize MODEL.py: the loop.
#include "cli/optimize.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/also.h"
#include "cli/app.h"
#include "cli/baseline.h"
#include "cli/commands.h"
#include "cli/preset.h"
#include "cli/recorded_flags.h"
#include "cli/recording.h"
#include "cli/run_summary.h"
#include "cli/signals.h"
#include "evaluate/evaluator.h"
#include "prompt/feedback.h"
#include "prompt/prompt.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"
#include "reward/reward.h"
#include "store/run_list.h"

namespace cudaagent::cli {
search::Observer Watch(const OptimizeCommand& command, bool builtin_first) {
  search::Observer observer;
  observer.on_propose = [&command, builtin_first](int number, const std::string& proposer) {
    const bool builtin = builtin_first && number == 1;
    command.Say("attempt " + std::to_string(number) + ": asking " +
                (builtin ? "the built-in rules first" : proposer));
  };
  observer.on_attempt = [&command](const Attempt& attempt, bool new_best) {
    command.Say(report::AttemptLine(attempt, new_best));
  };
  observer.on_confirm = [&command](const Attempt& attempt) {
    command.Say("confirming attempt " + std::to_string(attempt.number) + " in a fresh worker");
  };
  observer.on_confirmed = [&command](const Attempt& attempt) {
    command.Say(report::ConfirmationLine(attempt));
  };
  observer.feedback = [](const Attempt& attempt) { return prompt::Feedback(attempt.evaluation); };
  observer.stop_requested = [] { return StopSignal() != 0; };
  return observer;
}

namespace {

// The best kernel so far and every attempt are on disk; says so where the proposer failed for good.
Error WithWhatIsLeft(Error error, const search::Outcome& outcome, const std::string& folder) {
  if (error.code != ErrorCode::kLlm) return error;
  error.message +=
      "\nNothing is lost: the " + std::to_string(outcome.attempts.size()) +
      " attempts so far are in " + folder + "/attempts" +
      (outcome.best < 0 ? "." : ", the best kernel is " + folder + "/best/kernel.cu.") +
      " Go on with: cudaagent optimize --resume " + folder;
  return error;
}

// The random inputs of a run follow from one secret and the candidate: resumed or replayed, what is
// said of a wrong candidate is the same.
void DrawSeed(OptimizeCommand& command) {
  const uint64_t seed = FreshSeed();
  command.eval.options.seed = seed;
  command.flags["--seed"] = {std::to_string(seed)};
}

// Begins a run, or takes up the resumed one.
Result<void> OpenRun(OptimizeCommand& command, const ProblemSpec& spec,
                     const std::string& proposer) {
  if (command.run != nullptr) {
    if (command.run->before().description.spec.source != spec.source) {
      return Fail(ErrorCode::kUsage,
                  spec.path +
                      " has changed since the run began, so its attempts are of another "
                      "problem. Put it back as it was (run.json holds it), or "
                      "start a new run.");
    }
    return command.run->Continue(command.flags);
  }
  if (command.eval.options.seed == 0) DrawSeed(command);
  store::RunDescription description;
  description.spec = spec;
  description.arguments = command.argv;
  description.flags = command.flags;
  description.recheck = RecheckCommand(spec, command.problem, command.eval);
  description.proposer = proposer;
  description.version = Version();
  auto run = store::RunFolder::Create(command.out, std::move(description));
  if (!run) return tl::unexpected(run.error());
  command.run = std::move(*run);
  return {};
}

std::vector<Attempt> History(const store::StoredRun& run) {
  std::vector<Attempt> attempts;
  for (const store::StoredAttempt& each : run.attempts) attempts.push_back(each.attempt);
  return attempts;
}

Result<search::Outcome> Search(OptimizeCommand& command, const ProblemSpec& spec,
                               const ChosenProposer& proposer) {
  store::RunFolder& run = *command.run;
  auto config = ToConfig(spec, command.eval, command.output);
  config.log_dir = run.folder() + "/logs";
  if (!command.search.no_tune) config.tune.mode = evaluate::TuneMode::kAlways;
  auto evaluator = evaluate::StartEvaluator(std::move(config));
  if (!evaluator) return tl::unexpected(evaluator.error());
  search::Start start;
  start.history = History(run.before());
  start.elapsed_s = run.before().elapsed_s;
  if (auto candidate = InitCandidate((*evaluator)->problem())) {
    start.init = std::move(*candidate);
  } else {
    command.Say("no init baseline: " + candidate.error().message);
  }
  search::Outcome outcome = search::Refine(spec, start, **evaluator, *proposer.proposer, run,
                                           command.limits, Watch(command, proposer.builtin_first));
  if (outcome.error) {
    outcome.error = WithWhatIsLeft(std::move(*outcome.error), outcome, run.folder());
  } else if (!command.proposer.replay.empty()) {
    auto same = CompareWithRecording(command.proposer.replay, outcome);
    if (!same) outcome.error = same.error();
  }
  return outcome;
}

// The best kernel at the further shapes that were asked for; the evaluator has left the device by
// now.
std::vector<AlsoResult> VerifyBest(const OptimizeCommand& command, const search::Outcome& outcome,
                                   const std::vector<AlsoShape>& shapes) {
  if (outcome.best < 0 || shapes.empty() || StopSignal() != 0) return {};
  auto verified =
      VerifyAlso(shapes, {outcome.attempts[outcome.best].candidate}, command.eval, command.output);
  if (verified) return std::move(verified->front());
  command.Say("the best kernel was not verified at further shapes: " + verified.error().message);
  return {};
}

int PrintOutcome(const OptimizeCommand& command, const search::Outcome& outcome,
                 const std::vector<AlsoResult>& also) {
  const bool json = command.output.json;
  const std::string folder = command.run->folder();
  auto printed = Print(json ? protocol::ToText(SummaryJson(outcome, folder, also)) + "\n"
                            : SummaryText(outcome, folder, also));
  if (outcome.error) Report(*outcome.error, false);
  if (!printed) return Report(printed.error(), false);
  return ExitCodeOfOutcome(outcome, command.limits);
}

Result<void> ReadLimits(OptimizeCommand& command) {
  auto limits = ToLimits(command.search);
  if (!limits) return tl::unexpected(limits.error());
  command.limits = *limits;
  // A replay repeats what was recorded, however fast this device is.
  if (!command.proposer.replay.empty()) command.limits.sol_target = 0;
  return {};
}

// A finished run, asked to go on under the same limits: nothing is started.
int PrintFinished(OptimizeCommand& command) {
  if (auto limits = ReadLimits(command); !limits)
    return Report(limits.error(), command.output.json);
  const store::StoredRun& before = command.run->before();
  search::Outcome outcome;
  outcome.attempts = History(before);
  outcome.elapsed_s = before.elapsed_s;
  outcome.reason = search::StopReasonOf(before.stopped).value_or(search::StopReason::kAttempts);
  if (const store::StoredAttempt* best = before.best()) outcome.best = best->attempt.number;
  command.Say("this run is finished (" + before.stopped +
              "); --attempts N goes on with more. Its result:");
  return PrintOutcome(command, outcome, {});
}

int Resume(const OptimizeCommand& asked, const CLI::App& sub) {
  const bool json = asked.output.json;
  auto folder = store::FindRun(asked.resume);
  if (!folder) return Report(folder.error(), json);
  if (!asked.out.empty()) {
    return Report(
        {ErrorCode::kUsage, "--out and --resume exclude each other: a run stays in its folder."},
        json);
  }
  auto run = store::RunFolder::Resume(*folder);
  if (!run) return Report(run.error(), json);
  const store::FlagValues& recorded = (*run)->before().description.flags;
  auto flags = ResumedFlags(sub, recorded, GivenFlags(sub));
  if (!flags) return Report(flags.error(), json);
  OptimizeCommand command;
  if (auto applied = ApplyFlags(*flags, command); !applied) return Report(applied.error(), json);
  const bool same = *flags == recorded;
  command.output = asked.output;
  command.run = std::move(*run);
  PinDevice(command.run->before(), command);
  if (command.run->before().finished && same) return PrintFinished(command);
  const size_t before = command.run->before().attempts.size();
  command.Say("resuming after " + std::to_string(before) +
              (before == 1 ? " attempt" : " attempts"));
  return RunOptimize(command);
}

}  // namespace

void OptimizeCommand::Say(const std::string& line) const {
  if (!output.quiet) std::fprintf(stderr, "%s\n", line.c_str());
}

Result<void> ApplyFlags(const store::FlagValues& flags, OptimizeCommand& command) {
  CLI::App app;
  const CLI::App* sub = AddOptimizeFlags(app, command);
  if (auto read = ParseRecorded("optimize", flags, app); !read) return read;
  ApplyPreset(*sub, command.problem, command.eval);
  command.flags = flags;
  return {};
}

void PinDevice(const store::StoredRun& run, OptimizeCommand& command) {
  if (command.eval.device != "auto" || run.attempts.empty()) return;
  const std::string& kind = run.attempts.back().attempt.evaluation.device.kind;
  if (!kind.empty()) command.eval.device = kind;
}

int RunOptimize(OptimizeCommand& command) {
  const bool json = command.output.json;
  if (command.dry_run) return RunDry(command);
  if (auto limits = ReadLimits(command); !limits) return Report(limits.error(), json);
  // First of all: it takes the key out of the environment.
  auto proposer = MakeProposer(command.proposer);
  if (!proposer) return Report(proposer.error(), json);
  auto spec = ToSpec(command.problem);
  if (!spec) return Report(spec.error(), json);
  auto shapes = AlsoShapes(*spec, command.eval.also);
  if (!shapes) return Report(shapes.error(), json);
  if (auto opened = OpenRun(command, *spec, proposer->proposer->name()); !opened) {
    return Report(opened.error(), json);
  }
  command.Say("run folder: " + command.run->folder());
  command.Say("proposer: " + proposer->why);

  auto outcome = Search(command, *spec, *proposer);
  if (!outcome) return Report(outcome.error(), json);
  const std::vector<AlsoResult> also = VerifyBest(command, *outcome, *shapes);
  const bool finished = !outcome->error && outcome->reason != search::StopReason::kInterrupted;
  const std::string stopped =
      outcome->error ? outcome->error->message : search::ToString(outcome->reason);
  const std::string summary =
      protocol::ToText(SummaryJson(*outcome, command.run->folder(), also)) + "\n";
  auto ended = command.run->End(stopped, finished, outcome->elapsed_s, summary);
  if (!ended && !outcome->error) outcome->error = ended.error();
  return PrintOutcome(command, *outcome, also);
}

CLI::App* AddOptimizeFlags(CLI::App& app, OptimizeCommand& command) {
  CLI::App* sub =
      app.add_subcommand("optimize", "Search for a faster kernel; leaves the best on disk");
  AddProblemFlags(*sub, command.problem);
  AddSearchFlags(*sub, command.search);
  sub->add_flag(
      "--dry-run", command.dry_run,
      "Print the first prompt a model would get, and its size; ask nobody, write no run folder");
  sub->add_option("-o,--out", command.out, "Run folder; default runs/<date>-<model>-<id>")
      ->envname("CUDAAGENT_OUT");
  sub->add_option(
      "--resume", command.resume,
      "Go on with a run that was stopped or killed: its folder, its name in runs/ or latest. MODEL "
      "and flags come from the run; --attempts may be raised, other limits changed");
  AddProposerFlags(*sub, command.proposer);
  AddEvalFlags(*sub, command.eval);
  AddTuneFlags(*sub, command.eval);
  AddOutputFlags(*sub, command.output);
  sub->get_option("MODEL")->required(false);
  return sub;
}

Command AddOptimize(CLI::App& app, const std::vector<std::string>& argv) {
  auto command = std::make_shared<OptimizeCommand>();
  command->argv = argv;
  const CLI::App* sub = AddOptimizeFlags(app, *command);
  return [command, sub] {
    if (!command->resume.empty()) return Resume(*command, *sub);
    if (command->problem.model_path.empty()) {
      return Report(
          {ErrorCode::kUsage, "optimize needs MODEL.py, or --resume RUN to go on with a run."},
          command->output.json);
    }
    ApplyPreset(*sub, command->problem, command->eval);
    command->flags = GivenFlags(*sub);
    if (!command->proposer.replay.empty()) {
      auto folder = store::FindRun(command->proposer.replay);
      if (!folder) return Report(folder.error(), command->output.json);
      command->proposer.replay = *folder;
      command->flags["--replay"] = {*folder};
    }
    return RunOptimize(*command);
  };
}

}  // namespace cudaagent::cli
