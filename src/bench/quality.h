// KernelBench problems that cannot tell work from none, or that need care
// (configs/problem_quality.json).
#pragma once

#include <optional>
#include <string>

#include "bench/row.h"

namespace cudaagent::bench {

struct Quality {
  std::string kind;  // "zeros_pass", "input_blind", ...
  std::string note;
  bool degenerate = false;  // a win on it proves nothing
};

// What is known of the problem with this level and name; a problem of another name under the same
// number is another problem. `loose`: the deciding tolerance is 1e-2, under which more problems are
// degenerate.
std::optional<Quality> QualityOf(int level, const std::string& name, bool loose);

// Why the row's problem is degenerate, by the list or by its evaluation; "" = it is not.
std::string WhyDegenerate(const Row& row);

}  // namespace cudaagent::bench
