// JSON as a person would lay it out: what fits on a line stays on it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "graph/graph.h"

namespace cudaagent::rewrite {

// `indent` is the column `value` starts at; lines are kept within 100 columns where possible. The
// text never holds "*/", so that it may stand inside a C comment.
std::string PrettyJson(const nlohmann::ordered_json& value, int indent = 0);

// A node's argument as an op step's argument. `ref` gives a tensor's text ("$fc.weight").
// Infinities and NaN, which JSON lacks, become "inf", "-inf" and "nan".
nlohmann::ordered_json ToJson(const graph::Value& value,
                              const std::function<std::string(const std::string&)>& ref);

}  // namespace cudaagent::rewrite
