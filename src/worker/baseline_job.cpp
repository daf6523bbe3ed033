#include <spdlog/fmt/fmt.h>

#include <optional>
#include <string>
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
protocol::BaselineReply TimeCompiled(const protocol::BaselineJob& job, Session& session) {
  reference::Reference& reference = session.reference();
  const Precision precision = session.spec().precision;
  auto fresh = FreshInputs::Make(reference);
  if (!fresh) return Refuse(fresh.error().message);
  auto sample = fresh->Next();
  if (!sample) return Refuse(sample.error().message);
  protocol::BaselineReply reply;
  std::optional<Error> world;
  std::vector<measure::Contender> contenders;
  const auto add = [&](const std::string& mode) {
    contenders.push_back(ModelContender(mode, reference, precision, *fresh, world));
  };
  add("eager");
  for (const std::string& mode : job.modes) {
    auto first = reference.ForwardCompiled(mode, **sample, precision);  // compiles
    if (first) {
      add(mode);
    } else {
      reply.failures[mode] = first.error().message;
    }
  }
  if (contenders.size() == 1) {
    reply.message =
        "torch.compile failed: " + (reply.failures.empty() ? "" : reply.failures.begin()->second);
    return reply;
  }
  auto measured = measure::MeasureInterleaved(contenders, {}, job.options);
  if (!measured) return Refuse(measured.error().message);
  for (const measure::Samples& each : *measured) {
    if (each.span_ns.empty()) return Refuse("The timing gave no samples.");
  }
  reply.ok = true;
  reply.eager = measure::Summarise(measured->front());
  for (size_t i = 1; i < contenders.size(); ++i) {
    reply.compiled[contenders[i].name] = measure::Summarise((*measured)[i]);
  }
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
                                      ? TimeCompiled(job, session)
                                      : Refuse(
                                            "torch.compile is timed on a GPU only; on the CPU "
                                            "device eager's estimate decides.");
  reply.seconds = watch.Seconds();
  return reply;
}

}  // namespace cudaagent::worker
