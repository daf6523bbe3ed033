#include <spdlog/fmt/fmt.h>

#include <optional>
#include <utility>
#include <vector>

#include "measure/measure.h"
#include "verify/verify.h"
#include "worker/input_sets.h"
#include "worker/timing.h"

namespace cudaagent::worker {
namespace {

void AddNote(const std::string& note, ProtocolStamp* protocol) {
  if (note.empty()) return;
  if (!protocol->note.empty()) protocol->note += "; ";
  protocol->note += note;
}

}  // namespace

Result<Checked<void>> TimeOnGpu(Session& session, device::PlanRunner& runner,
                                device::Bindings& bindings, bool captured, bool with_eager,
                                const EvalOptions& options, Evaluation* evaluation) {
  reference::Reference& reference = session.reference();
  const Precision precision = session.spec().precision;
  auto sets = InputSets::Make(reference);
  if (!sets) return tl::unexpected<Error>(sets.error());
  if (sets->size() == 1) AddNote("one set of inputs: memory is short", &evaluation->protocol);

  std::optional<Error> world;  // what went wrong outside the candidate
  const auto infra = [&world](const Error& error) {
    world = error;
    return Blame(Verdict::kInfraError, error.message);
  };

  measure::Contender candidate;
  candidate.name = "candidate";
  candidate.graph = captured;
  candidate.prepare = [&]() -> Checked<void> {
    auto filled = verify::FillInputs(sets->Next(), reference.info(), &bindings);
    if (!filled) return infra(filled.error());
    runner.Poison();
    return {};
  };
  candidate.run = [&] { return captured ? runner.Replay() : runner.Run(); };
  if (captured) candidate.steps = [&] { return runner.Run(); };

  const std::vector<c10::IValue>* eager_inputs = nullptr;
  measure::Contender eager;
  eager.name = "eager";
  eager.prepare = [&]() -> Checked<void> {
    eager_inputs = &sets->Next();
    return {};
  };
  eager.run = [&]() -> Checked<void> {
    auto outputs = reference.Forward(*eager_inputs, precision);
    if (!outputs) return infra(outputs.error());
    return {};
  };

  std::vector<measure::Contender> contenders = {candidate};
  if (with_eager) contenders.push_back(eager);
  auto measured = measure::MeasureInterleaved(contenders, runner.kernel_names(), options);
  if (world) return tl::unexpected<Error>(*world);
  if (!measured) return Checked<void>(tl::unexpected<Fault>(measured.error()));
  if (measured->size() != contenders.size()) {
    return Fail(ErrorCode::kInternal, "A timing without all of its contenders.");
  }

  const measure::Samples& ours = measured->front();
  const measure::Samples& theirs = measured->back();
  evaluation->protocol.clock = ours.clock;
  AddNote(ours.note, &evaluation->protocol);
  if (theirs.note != ours.note) AddNote(theirs.note, &evaluation->protocol);
  if (ours.span_ns.empty() || theirs.span_ns.empty()) {
    return Checked<void>(Blame(Verdict::kInfraError,
                               "The timing gave no samples; the GPU may be in use by others."));
  }
  evaluation->candidate = measure::Summarise(ours);
  if (with_eager) {
    evaluation->eager = measure::Summarise(theirs);
    evaluation->speedup_eager = measure::Ratio(theirs.span_ns, ours.span_ns);
  }
  if (ours.busy_ns > 0) evaluation->own_kernel_share = ours.own_busy_ns / ours.busy_ns;
  return runner.CheckGuards();
}

}  // namespace cudaagent::worker
