// Until when a plan needs the result of an op: memory of the rest is free for later steps, as it is
// when torch runs the same operators.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "candidate/plan.h"

namespace cudaagent::device {

class Liveness {
 public:
  explicit Liveness(const std::vector<candidate::Step>& steps);
  // May a top-level step after number `step` mention `name`? Names written with "{expr}" pieces are
  // taken for every name with the same beginning.
  bool UsedAfter(const std::string& name, size_t step) const;

 private:
  std::map<std::string, size_t> last_use_;     // whole names
  std::map<std::string, size_t> last_prefix_;  // beginnings
};

}  // namespace cudaagent::device
