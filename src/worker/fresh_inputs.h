// Inputs for timed iterations: contents that were never seen before, each time.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "reference/reference.h"

namespace cudaagent::worker {

// Makes inputs from a new secret seed on every call of Next(). Where get_inputs() is so slow (drawn
// on the CPU) that a timing would mostly wait for it, two sets take turns instead, and note() says
// so. Not thread-safe.
class FreshInputs {
 public:
  static Result<FreshInputs> Make(reference::Reference& reference);

  // Valid until the next call.
  Result<const std::vector<c10::IValue>*> Next();
  const std::string& note() const { return note_; }

 private:
  explicit FreshInputs(reference::Reference& reference) : reference_(&reference) {}

  reference::Reference* reference_;
  std::vector<c10::IValue> latest_;
  std::vector<std::vector<c10::IValue>> turns_;  // empty: made anew each time
  size_t next_ = 0;
  std::string note_;
};

}  // namespace cudaagent::worker
