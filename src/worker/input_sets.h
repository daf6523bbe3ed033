// Prepared arguments of Model.forward that take turns, so that no two neighbouring iterations of a
// timing see the same contents.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "cudaagent/result.h"
#include "reference/reference.h"

namespace cudaagent::worker {

class InputSets {
 public:
  // Two sets from secret seeds; one where memory does not suffice for two.
  static Result<InputSets> Make(reference::Reference& reference);

  // The set after the last one given out.
  const std::vector<c10::IValue>& Next();
  size_t size() const { return sets_.size(); }

 private:
  std::vector<std::vector<c10::IValue>> sets_;
  size_t next_ = 0;
};

}  // namespace cudaagent::worker
