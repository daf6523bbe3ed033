#include "protocol/evaluation_json.h"

#include "protocol/describe.h"

namespace cudaagent::protocol {
namespace {

constexpr int kSchema = 1;

// A document of its own carries its schema; parts of one do not.
template <typename T>
nlohmann::json Document(const T& value) {
  nlohmann::json json = Writer::Json(value);
  json["schema"] = kSchema;
  return json;
}

template <typename T>
Result<T> FromDocument(const nlohmann::json& json, const std::string& where) {
  if (json.is_object()) {
    const auto schema = json.find("schema");
    if (schema == json.end() || !schema->is_number_integer() || *schema != kSchema) {
      return Fail(ErrorCode::kInternal,
                  "Invalid JSON: " + where + ".schema must be " + std::to_string(kSchema) + ".");
    }
  }
  return FromJson<T>(json, where);
}

}  // namespace

nlohmann::json ToJson(const Evaluation& evaluation) { return Document(evaluation); }
nlohmann::json ToJson(const ProblemInfo& problem) { return Document(problem); }
nlohmann::json ToJson(const ProblemSpec& spec) { return Document(spec); }
nlohmann::json ToJson(const Timing& timing) { return Writer::Json(timing); }
nlohmann::json ToJson(const Usage& usage) { return Writer::Json(usage); }

Result<Evaluation> EvaluationFromJson(const nlohmann::json& json) {
  return FromDocument<Evaluation>(json, "evaluation");
}
Result<ProblemInfo> ProblemInfoFromJson(const nlohmann::json& json) {
  return FromDocument<ProblemInfo>(json, "problem");
}
Result<ProblemSpec> ProblemSpecFromJson(const nlohmann::json& json) {
  return FromDocument<ProblemSpec>(json, "spec");
}
std::string ToText(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Timing> TimingFromJson(const nlohmann::json& json) {
  return FromJson<Timing>(json, "timing");
}

}  // namespace cudaagent::protocol
