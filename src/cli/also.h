// --also-const: what was found correct is verified at further shapes too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cudaagent/candidate.h"
#include "cudaagent/evaluation.h"

namespace cudaagent::cli {

struct AlsoShape {
  std::string text;  // as the user wrote it: "batch_size=8,dim=64"
  ProblemSpec spec;  // the problem with these constants over its own
};

// kUsage for what is not NAME=VALUE,...; commas inside brackets and quotes belong to the value.
Result<std::vector<AlsoShape>> AlsoShapes(const ProblemSpec& spec,
                                          const std::vector<std::string>& texts);

struct AlsoResult {
  std::string shape;
  Verdict verdict = Verdict::kInfraError;
  bool refused = false;  // a `require` of the plan is false there: it does not claim these shapes
  std::string message;
};

// Checks, without timing, each candidate at each shape; results by candidate. A worker for each
// shape.
Result<std::vector<std::vector<AlsoResult>>> VerifyAlso(const std::vector<AlsoShape>& shapes,
                                                        const std::vector<Candidate>& candidates,
                                                        const EvalFlags& flags,
                                                        const OutputFlags& output);

nlohmann::json AlsoJson(const std::vector<AlsoResult>& results);
std::string AlsoText(const std::vector<AlsoResult>& results);  // a line each

}  // namespace cudaagent::cli
