#include <spdlog/fmt/fmt.h>

#include <optional>
#include <utility>
#include <vector>

#include "measure/measure.h"
#include "util/time.h"
#include "worker/fresh_inputs.h"
#include "worker/jobs.h"
#include "worker/model_contender.h"

namespace cudaagent::worker {
namespace {

protocol::BaselineReply Refuse(std::string why) {
  protocol::BaselineReply reply;
  reply.message = std::move(why);
  return reply;
}

// Both sides under the same precision, by turns, on inputs that take turns.
protocol::BaselineReply TimeCompiled(const EvalOptions& options, Session& session) {
  reference::Reference& reference = session.reference();
  const Precision precision = session.spec().precision;
  auto fresh = FreshInputs::Make(reference);
  if (!fresh) return Refuse(fresh.error().message);
  auto sample = fresh->Next();
  if (!sample) return Refuse(sample.error().message);
  auto first = reference.ForwardCompiled(**sample, precision);  // compiles
  if (!first) return Refuse(fmt::format("torch.compile failed: {}", first.error().message));
  first->clear();

  std::optional<Error> world;
  const auto contender = [&](const char* name, ModelForward forward) {
    return ModelContender(name, reference, forward, precision, *fresh, world);
  };
  auto measured =
      measure::MeasureInterleaved({contender("eager", &reference::Reference::Forward),
                                   contender("compile", &reference::Reference::ForwardCompiled)},
                                  {}, options);
  if (!measured) return Refuse(measured.error().message);
  if (measured->size() != 2 || (*measured)[0].span_ns.empty() || (*measured)[1].span_ns.empty()) {
    return Refuse("The timing gave no samples.");
  }
  protocol::BaselineReply reply;
  reply.ok = true;
  reply.eager = measure::Summarise((*measured)[0]);
  reply.compiled = measure::Summarise((*measured)[1]);
  return reply;
}

}  // namespace

protocol::FromChild RunBaselineJob(const protocol::BaselineJob& job, Session& session,
                                   Channel& channel) {
  if (!session.has_problem()) {
    return protocol::ErrorReply{
        {ErrorCode::kInternal, "A baseline was asked for before a problem was loaded."}};
  }
  channel.EnterStage("baseline");
  const util::Stopwatch watch;
  protocol::BaselineReply reply = session.device().is_gpu()
                                      ? TimeCompiled(job.options, session)
                                      : Refuse(
                                            "torch.compile is timed on a GPU only; on the CPU "
                                            "device eager's estimate decides.");
  reply.seconds = watch.Seconds();
  return reply;
}

}  // namespace cudaagent::worker
