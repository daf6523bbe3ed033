#include "worker/fresh_inputs.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "util/time.h"
#include "verify/verify.h"

namespace cudaagent::worker {
namespace {

// An iteration needs two sets (candidate and eager), a timing at least 13 iterations: beyond this
// a timing would spend seconds waiting.
constexpr double kSlowSeconds = 0.1;

}  // namespace

Result<FreshInputs> FreshInputs::Make(reference::Reference& reference) {
  FreshInputs inputs(reference);
  const util::Stopwatch watch;
  auto first = reference.MakeInputs(verify::SecretSeed());
  if (!first) return tl::unexpected<Error>(first.error());
  const double seconds = watch.Seconds();
  if (seconds < kSlowSeconds) return inputs;
  inputs.turns_.push_back(std::move(*first));
  auto second = reference.MakeInputs(verify::SecretSeed());
  if (second) {
    inputs.turns_.push_back(std::move(*second));
  } else if (second.error().code != ErrorCode::kEnvironment) {
    return tl::unexpected<Error>(second.error());
  }
  inputs.note_ = fmt::format(
      "get_inputs() takes {:.2g} s: {} while timing", seconds,
      inputs.turns_.size() == 2 ? "two sets of inputs take turns" : "one set of inputs is used");
  return inputs;
}

Result<const std::vector<c10::IValue>*> FreshInputs::Next() {
  if (!turns_.empty()) {
    const auto* set = &turns_[next_];
    next_ = (next_ + 1) % turns_.size();
    return set;
  }
  latest_.clear();  // first, so that two sets never lie side by side
  auto made = reference_->MakeInputs(verify::SecretSeed());
  if (!made) return tl::unexpected<Error>(made.error());
  latest_ = std::move(*made);
  return &latest_;
}

}  // namespace cudaagent::worker
