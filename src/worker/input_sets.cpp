#include "worker/input_sets.h"

#include <utility>

#include "verify/verify.h"

namespace cudaagent::worker {

Result<InputSets> InputSets::Make(reference::Reference& reference) {
  constexpr size_t kSets = 2;
  InputSets sets;
  while (sets.sets_.size() < kSets) {
    auto inputs = reference.MakeInputs(verify::SecretSeed());
    if (!inputs) {
      if (inputs.error().code == ErrorCode::kEnvironment && !sets.sets_.empty()) break;
      return tl::unexpected<Error>(inputs.error());
    }
    sets.sets_.push_back(std::move(*inputs));
  }
  return sets;
}

const std::vector<c10::IValue>& InputSets::Next() {
  const auto& set = sets_[next_];
  next_ = (next_ + 1) % sets_.size();
  return set;
}

}  // namespace cudaagent::worker
