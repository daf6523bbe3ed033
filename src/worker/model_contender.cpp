#include "worker/model_contender.h"

#include <memory>

namespace cudaagent::worker {

measure::Contender ModelContender(const std::string& mode, reference::Reference& reference,
                                  Precision precision, FreshInputs& fresh,
                                  std::optional<Error>& world) {
  const auto blame = [&world](const Error& error) {
    world = error;
    return Blame(Verdict::kInfraError, error.message);
  };
  auto inputs = std::make_shared<const std::vector<c10::IValue>*>(nullptr);
  measure::Contender contender;
  contender.name = mode;
  contender.prepare = [&reference, &fresh, inputs, blame]() -> Checked<void> {
    auto next = fresh.Next();
    if (!next) return blame(next.error());
    *inputs = *next;
    auto restored = reference.RestoreStatistics();
    if (!restored) return blame(restored.error());
    return {};
  };
  contender.run = [&reference, mode, precision, inputs, blame]() -> Checked<void> {
    auto outputs = mode == "eager" ? reference.Forward(**inputs, precision)
                                   : reference.ForwardCompiled(mode, **inputs, precision);
    if (!outputs) return blame(outputs.error());
    return {};
  };
  return contender;
}

}  // namespace cudaagent::worker
