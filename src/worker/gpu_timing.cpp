#include <spdlog/fmt/fmt.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/measure.h"
#include "verify/verify.h"
#include "worker/fresh_inputs.h"
#include "worker/model_contender.h"
#include "worker/timing.h"

namespace cudaagent::worker {
namespace {

void AddNote(const std::string& note, ProtocolStamp* protocol) {
  if (note.empty()) return;
  if (!protocol->note.empty()) protocol->note += "; ";
  protocol->note += note;
}

// NVML counts energy in steps of up to a tenth of a second.
constexpr double kEnergySeconds = 0.5;

// Seconds that the memory needs at the very least; none where nothing is known to be unavoidable.
std::optional<double> FloorSeconds(Session& session) {
  const device::Limits& limits = session.device().limits();
  const int64_t bytes = session.unavoidable_bytes() - limits.l2_bytes;
  if (bytes <= 0 || limits.peak_bytes_per_s <= 0) return std::nullopt;
  return static_cast<double>(bytes) / limits.peak_bytes_per_s;
}

// Nothing honest is faster than the memory. kSuspectedHack by more than the share below.
Checked<void> CheckFloor(const Session& session, const Evaluation& evaluation) {
  constexpr double kSlack = 0.95;
  if (!evaluation.floor_ms || evaluation.candidate->median_ms >= kSlack * *evaluation.floor_ms) {
    return {};
  }
  return Blame(
      Verdict::kSuspectedHack,
      fmt::format("{:.4g} ms is less than the {:.4g} ms that the memory of {} needs for the "
                  "bytes every right implementation must read and write.",
                  evaluation.candidate->median_ms, *evaluation.floor_ms, session.Stamp().name));
}

}  // namespace

Result<Checked<void>> TimeOnGpu(Session& session, device::PlanRunner& runner,
                                device::Bindings& bindings, bool captured, const Rivals& rivals,
                                const EvalOptions& options, Evaluation* evaluation) {
  reference::Reference& reference = session.reference();
  const Precision precision = session.spec().precision;
  auto fresh = FreshInputs::Make(reference);
  if (!fresh) return tl::unexpected<Error>(fresh.error());
  AddNote(fresh->note(), &evaluation->protocol);

  std::optional<Error> world;  // what went wrong outside the candidate
  const auto infra = [&world](const Error& error) {
    world = error;
    return Blame(Verdict::kInfraError, error.message);
  };

  const std::vector<c10::IValue>* form = nullptr;  // any arguments; set before the first inspection
  measure::Contender candidate;
  candidate.name = "candidate";
  candidate.graph = captured;
  candidate.prepare = [&]() -> Checked<void> {
    auto inputs = fresh->Next();
    if (!inputs) return infra(inputs.error());
    form = *inputs;
    auto filled = verify::FillInputs(**inputs, reference.info(), &bindings);
    if (!filled) return infra(filled.error());
    auto restored = verify::RestoreStatistics(reference, &bindings);
    if (!restored) return infra(restored.error());
    runner.Poison();
    return {};
  };
  candidate.run = [&] { return captured ? runner.Replay() : runner.Run(); };
  if (captured) candidate.steps = [&] { return runner.Run(); };
  candidate.inspect = [&]() -> Checked<void> {
    auto right = verify::CheckTimed(runner, session.device(), bindings, reference, precision,
                                    options, *form, &evaluation->check);
    if (!right) return infra(right.error());
    return *right;
  };

  std::vector<measure::Contender> contenders = {candidate};
  const auto add = [&](const std::string& mode) {
    contenders.push_back(ModelContender(mode, reference, precision, *fresh, world));
  };
  if (rivals.eager) add("eager");
  if (!rivals.compile_mode.empty()) add(rivals.compile_mode);
  auto measured =
      measure::MeasureInterleaved(contenders, runner.kernel_names(), options, &evaluation->gpu);
  if (world) return tl::unexpected<Error>(*world);
  if (!measured) return Checked<void>(tl::unexpected<Fault>(measured.error()));
  if (measured->size() != contenders.size()) {
    return Fail(ErrorCode::kInternal, "A timing without all of its contenders.");
  }

  const measure::Samples& ours = measured->front();
  evaluation->protocol.clock = ours.clock;
  std::set<std::string> notes;
  for (const measure::Samples& each : *measured) {
    if (notes.insert(each.note).second) AddNote(each.note, &evaluation->protocol);
    if (!each.span_ns.empty()) continue;
    return Checked<void>(Blame(Verdict::kInfraError,
                               "The timing gave no samples; the GPU may be in use by others."));
  }
  evaluation->candidate = measure::Summarise(ours);
  size_t next = 1;
  if (rivals.eager) {
    const measure::Samples& eager = (*measured)[next++];
    evaluation->eager = measure::Summarise(eager);
    evaluation->speedup_eager = measure::Ratio(eager.span_ns, ours.span_ns);
  }
  if (!rivals.compile_mode.empty()) {
    const measure::Samples& compiled = (*measured)[next];
    evaluation->compiled_baseline = measure::Summarise(compiled);
    evaluation->speedup_compile = measure::Ratio(compiled.span_ns, ours.span_ns);
  }
  if (ours.busy_ns > 0) evaluation->own_kernel_share = ours.own_busy_ns / ours.busy_ns;
  if (auto floor = FloorSeconds(session)) {
    evaluation->floor_ms = *floor * 1e3;
  }
  if (options.energy) {
    const auto spend = [&](const measure::Contender& contender,
                           std::optional<double>* millijoules) -> Checked<void> {
      auto spent = measure::MillijoulesPerRun(contender, kEnergySeconds);
      if (!spent) return tl::unexpected(spent.error());
      *millijoules = *spent;
      return {};
    };
    auto done = spend(candidate, &evaluation->energy_mj);
    if (done && rivals.eager) done = spend(contenders[1], &evaluation->eager_energy_mj);
    if (world) return tl::unexpected<Error>(*world);
    if (!done) return done;
  }
  if (auto guards = runner.CheckGuards(); !guards) return guards;
  return CheckFloor(session, *evaluation);
}

}  // namespace cudaagent::worker
