// The straight story of one evaluation: bind, load, check, capture, time.
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>

#include "candidate/plan.h"
#include "candidate/validate.h"
#include "device/shadow.h"
#include "protocol/names.h"
#include "reference/precision.h"
#include "util/hash.h"
#include "util/time.h"
#include "verify/verify.h"
#include "worker/jobs.h"
#include "worker/timing.h"

namespace cudaagent::worker {
namespace {

// Enters stages: tells the driver, notes where a verdict falls, and clocks each.
class Stages {
 public:
  Stages(Channel& channel, Evaluation& evaluation) : channel_(channel), evaluation_(evaluation) {}
  ~Stages() { Leave(); }

  void Enter(const std::string& name) {
    Leave();
    channel_.EnterStage(name);
    Begin(name);
  }
  // A stage the driver sets no deadline for.
  void Begin(const std::string& name) {
    Leave();
    evaluation_.stage = name;
    watch_ = util::Stopwatch();
  }

 private:
  void Leave() {
    if (!evaluation_.stage.empty()) evaluation_.seconds[evaluation_.stage] += watch_.Seconds();
    watch_ = util::Stopwatch();
  }

  Channel& channel_;
  Evaluation& evaluation_;
  util::Stopwatch watch_;
};

std::string Praise(const Evaluation& evaluation) {
  std::string text =
      fmt::format("Correct in {} of {} trials", evaluation.check.passed, evaluation.check.trials);
  if (evaluation.check.variants > 0) {
    text += fmt::format(" and {} of {} hidden variants", evaluation.check.variants_passed,
                        evaluation.check.variants);
    if (const size_t skipped = evaluation.check.skipped_variants.size()) {
      text += fmt::format(" ({} skipped)", skipped);
    }
  }
  if (!evaluation.candidate) return text + ".";
  const char* how = evaluation.estimated ? "estimated " : "";
  text += fmt::format("; {}{:.4g} ms", how, evaluation.candidate->median_ms);
  if (evaluation.eager && evaluation.speedup_eager) {
    text += fmt::format(" against {:.4g} ms of eager ({:.2f}x)", evaluation.eager->median_ms,
                        evaluation.speedup_eager->value);
  }
  return text + ".";
}

// Before the candidate comes near the device: the first call compiles, for seconds. False, told in
// the notes, where it fails.
bool WarmCompiled(const std::string& mode, Session& session, Evaluation* evaluation) {
  reference::Reference& reference = session.reference();
  std::string why;
  if (auto inputs = reference.MakeInputs(verify::SecretSeed()); !inputs) {
    why = inputs.error().message;
  } else if (auto done = reference.ForwardCompiled(mode, *inputs, session.spec().precision);
             !done) {
    why = done.error().message;
  }
  if (why.empty()) return true;
  evaluation->check.notes.push_back("torch.compile takes no turns with the candidate: " + why);
  return false;
}

// The plan once more, shown to the interpreter launch by launch: it finds races that this GPU's
// schedule wins each time.
Checked<void> LookForRaces(device::PlanRunner& runner, device::Device& device,
                           const device::Artifact& artifact, uint64_t seed, CheckReport* report) {
  device::ShadowOptions options;
  options.seed = seed != 0 ? seed : std::random_device()();
  options.sms = device.limits().sms;
  const auto shadow = device::OpenShadow(artifact, options);
  if (shadow == nullptr) {
    report->notes.push_back("races: not looked for (this worker was built without the CPU device)");
    return {};
  }
  runner.Poison();
  device.SetShadow(shadow.get());
  // Both return what is thrown within.
  Checked<void> ran = runner.PrepareAgain();
  if (ran) ran = runner.Run();
  device.SetShadow(nullptr);
  report->races = shadow->report();
  return ran;
}

// Everything from the file's text to the timings. The Error is the world's, the Fault the
// candidate's.
Result<Checked<void>> Judge(const protocol::EvaluateJob& job, Session& session, Stages& stages,
                            Evaluation* evaluation) {
  stages.Begin("parse");
  auto candidate = candidate::ParseCandidate(job.source);
  if (!candidate) return Checked<void>(tl::unexpected<Fault>(candidate.error()));
  auto valid = candidate::ValidatePlan(*candidate, session.reference().info());
  if (!valid) return Checked<void>(tl::unexpected<Fault>(valid.error()));

  Rivals rivals;
  rivals.eager = job.eager;
  if (!job.compile_mode.empty() && session.device().is_gpu()) {
    stages.Enter("baseline");
    if (WarmCompiled(job.compile_mode, session, evaluation)) rivals.compile_mode = job.compile_mode;
  }

  stages.Enter("load");
  if (job.options.hidden_variants) {
    auto degenerate = session.Degenerate(job.options.tier);
    if (degenerate) {
      evaluation->degenerate = *degenerate;
    } else {
      evaluation->check.notes.push_back("degenerate probes: not run (" +
                                        degenerate.error().message + ")");
    }
  }
  auto bindings = session.Bind();
  if (!bindings) return tl::unexpected<Error>(bindings.error());
  const device::Artifact artifact{job.cubin_path, job.ptx_path, job.lowered, job.demangled};
  auto created = device::PlanRunner::Create(*candidate, session.reference().info(), artifact,
                                            **bindings, session.device());
  if (!created) return Checked<void>(tl::unexpected<Fault>(created.error()));
  device::PlanRunner& runner = **created;
  evaluation->compile.kernels = runner.resources();
  evaluation->prepare = runner.prepared();

  stages.Enter("check");
  // Not before: what a fresh worker draws for itself must not shift the candidate's inputs.
  const uint64_t seed = job.options.seed;
  const verify::SeedScope seeds(seed == 0 ? "" : std::to_string(seed) + evaluation->candidate_hash);
  device::Device& device = session.device();
  const Precision precision = session.spec().precision;
  // The candidate's op steps run under the policy that eager is timed with; a capture binds it.
  const reference::PrecisionScope policy(precision);
  (void)device.TakeCounters();
  if (job.trials) {
    auto checked = verify::CheckCandidate(runner, device, **bindings, session.reference(),
                                          precision, job.options, &evaluation->check);
    if (!checked || !*checked) return checked;
    if (device.is_gpu() && job.options.hidden_variants && job.options.races) {
      auto raced = LookForRaces(runner, device, artifact, seed, &evaluation->check);
      if (!raced) return raced;
    }
  }
  if (!device.is_gpu()) {
    if (job.options.check_only) {
      evaluation->counters = device.TakeCounters();
      return Checked<void>();
    }
    stages.Enter("time");
    return EstimateOnCpu(session, runner, job.options, evaluation);
  }

  // Loaded anew, so that nothing kept in device globals during the checks is there to be timed.
  if (job.trials) {
    auto restored = verify::RestoreStatistics(session.reference(), *bindings);
    if (!restored) return tl::unexpected<Error>(restored.error());
    if (auto reloaded = runner.Reload(); !reloaded) return Checked<void>(std::move(reloaded));
  }
  auto captured = runner.Capture(&evaluation->protocol.note);
  if (!captured) return Checked<void>(tl::unexpected<Fault>(captured.error()));
  evaluation->protocol.graph = *captured;
  evaluation->extra_bytes = runner.extra_bytes();
  if (*captured) {
    auto replayed = verify::CheckReplay(runner, device, **bindings, session.reference(), precision,
                                        job.options, &evaluation->check);
    if (!replayed || !*replayed) return replayed;
  }

  if (job.options.check_only) return Checked<void>();

  stages.Enter("time");
  return TimeOnGpu(session, runner, **bindings, *captured, rivals, job.options, evaluation);
}

// libtorch's exceptions that a candidate's op steps or our own work let through.
Result<Checked<void>> JudgeSafely(const protocol::EvaluateJob& job, Session& session,
                                  Stages& stages, Evaluation* evaluation) {
  try {
    return Judge(job, session, stages, evaluation);
  } catch (const c10::OutOfMemoryError&) {
    return Checked<void>(
        Blame(Verdict::kOutOfMemory, "The candidate needs more memory than the device has left."));
  } catch (const std::bad_alloc&) {
    return Checked<void>(
        Blame(Verdict::kOutOfMemory, "The candidate needs more memory than the machine has left."));
  } catch (const c10::Error& error) {
    return Fail(ErrorCode::kInternal, fmt::format("The evaluation failed in libtorch: {}",
                                                  error.what_without_backtrace()));
  }
}

// Whether the reference alone has room, now that the candidate's memory is freed.
bool ReferenceFits(Session& session) {
  auto inputs = session.reference().MakeInputs(verify::SecretSeed());
  return inputs && session.reference().Forward(*inputs, Precision::kFp32);
}

}  // namespace

protocol::FromChild RunEvaluateJob(const protocol::EvaluateJob& job, Session& session,
                                   Channel& channel) {
  if (!session.has_problem()) {
    return protocol::ErrorReply{
        {ErrorCode::kInternal, "A candidate came before a problem was loaded."}};
  }
  if (auto configured = session.Configure(job.options); !configured) {
    return protocol::ErrorReply{configured.error()};
  }
  protocol::EvaluationReply reply;
  Evaluation& evaluation = reply.evaluation;
  evaluation.candidate_hash = util::Sha256Hex(job.source);
  evaluation.problem_hash = session.reference().info().hash;
  evaluation.device = session.Stamp();
  evaluation.date = util::NowIso8601();
  evaluation.estimated = !session.device().is_gpu() && !job.options.check_only;
  ProtocolStamp& protocol = evaluation.protocol;
  protocol.precision = protocol::NameOf(session.spec().precision);
  protocol.tier = job.options.tier;
  protocol.trials = job.options.trials;
  protocol.cold_l2 = !job.options.warm_l2;
  protocol.baseline = "eager";
  protocol.guard = session.device().is_gpu() ? job.options.guard : "exact";

  Result<Checked<void>> judged = Checked<void>();
  {
    Stages stages(channel, evaluation);
    judged = JudgeSafely(job, session, stages, &evaluation);
  }
  if (!judged && judged.error().code == ErrorCode::kEnvironment && evaluation.stage != "load" &&
      ReferenceFits(session)) {
    // It was the candidate that left too little: no reason to end the run.
    judged = Checked<void>(Blame(Verdict::kOutOfMemory,
                                 "The candidate's buffers and temporaries leave too little memory "
                                 "for the reference to run beside it."));
  }
  if (!judged) return protocol::ErrorReply{judged.error()};
  if (*judged) {
    evaluation.verdict = Verdict::kOk;
    evaluation.message = Praise(evaluation);
  } else {
    evaluation.verdict = judged->error().verdict;
    evaluation.message = judged->error().message;
  }
  // A write that hit a guard zone on a GPU may have hit our own memory beyond it as well.
  reply.poisoned = session.device().poisoned() ||
                   (session.device().is_gpu() && evaluation.verdict == Verdict::kOutOfBounds);
  return reply;
}

}  // namespace cudaagent::worker
