// Evaluation, ProblemInfo and their parts as JSON: the one form used on the wire, in run folders
// and under --json. "schema": 1. Enums are lower snake case; absent figures are left out, never 0.
#pragma once

#include <nlohmann/json.hpp>

#include "cudaagent/attempt.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "cudaagent/usage.h"

namespace cudaagent::protocol {

// A document as people and files get it. `indent` < 0: one line. Invalid UTF-8, which candidates,
// logs and models may hold, becomes U+FFFD. Without a newline at the end.
std::string ToText(const nlohmann::json& json, int indent = 2);

nlohmann::json ToJson(const Evaluation& evaluation);
nlohmann::json ToJson(const ProblemInfo& problem);
nlohmann::json ToJson(const ProblemSpec& spec);
nlohmann::json ToJson(const Timing& timing);
nlohmann::json ToJson(const Usage& usage);
Result<Evaluation> EvaluationFromJson(const nlohmann::json& json);
Result<ProblemInfo> ProblemInfoFromJson(const nlohmann::json& json);
Result<ProblemSpec> ProblemSpecFromJson(const nlohmann::json& json);
Result<Timing> TimingFromJson(const nlohmann::json& json);

}  // namespace cudaagent::protocol
