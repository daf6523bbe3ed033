// What `describe` shows of a problem.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cudaagent/evaluation.h"
#include "cudaagent/problem.h"

namespace cudaagent::report {

// Inputs, parameters, outputs, the ATen graph, bytes and FLOPs. Ends in a newline.
std::string ProblemText(const ProblemSpec& spec, const ProblemInfo& problem);

// The same as one document: ProblemInfo's form (docs/evaluation.md) with "schema", "spec",
// "work" {"flops", "bytes_read", "bytes_written"} where the graph is known.
nlohmann::json ProblemJson(const ProblemSpec& spec, const ProblemInfo& problem);

}  // namespace cudaagent::report
