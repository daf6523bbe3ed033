#include "worker/model_contender.h"

#include <memory>

namespace cudaagent::worker {

measure::Contender ModelContender(const std::string& name, reference::Reference& reference,
                                  ModelForward forward, Precision precision, FreshInputs& fresh,
                                  std::optional<Error>& world) {
  const auto blame = [&world](const Error& error) {
    world = error;
    return Blame(Verdict::kInfraError, error.message);
  };
  auto inputs = std::make_shared<const std::vector<c10::IValue>*>(nullptr);
  measure::Contender contender;
  contender.name = name;
  contender.prepare = [&fresh, inputs, blame]() -> Checked<void> {
    auto next = fresh.Next();
    if (!next) return blame(next.error());
    *inputs = *next;
    return {};
  };
  contender.run = [&reference, forward, precision, inputs, blame]() -> Checked<void> {
    auto outputs = (reference.*forward)(**inputs, precision);
    if (!outputs) return blame(outputs.error());
    return {};
  };
  return contender;
}

}  // namespace cudaagent::worker
