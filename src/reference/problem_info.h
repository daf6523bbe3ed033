// What python/cudaagent_reference/problem.py says of a problem, as the project's own type.
#pragma once

#include <string>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::reference {

// kInternal where the text is not what problem.py writes.
Result<ProblemInfo> ParseProblemInfo(const std::string& json);

}  // namespace cudaagent::reference
