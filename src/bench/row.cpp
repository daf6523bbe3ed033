#include "bench/row.h"

#include <array>
#include <utility>

#include "protocol/evaluation_json.h"
#include "protocol/json_archive.h"
#include "reward/reward.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

constexpr std::array<std::pair<Outcome, const char*>, 7> kOutcomes = {
    {{Outcome::kCorrect, "correct"},
     {Outcome::kIncorrect, "incorrect"},
     {Outcome::kNoCandidate, "no_candidate"},
     {Outcome::kUnsupported, "unsupported"},
     {Outcome::kProblemFailed, "problem_failed"},
     {Outcome::kTimedOut, "timed_out"},
     {Outcome::kInfraError, "infra_error"}}};

// The plain fields, once for both ways. `Describe` of Evaluation and Usage is the protocol's.
void Describe(auto& a, protocol::Is<Row> auto& v) {
  a("problem", v.problem);
  a("level", v.level);
  a("problem_id", v.problem_id);
  a("name", v.name);
  a("sample", v.sample);
  a("model_sha256", v.model_sha256);
  a("consts", v.consts);
  a("message", v.message);
  a("origin", v.origin);
  a("stopped", v.stopped);
  a("verdicts", v.verdicts);
  a("attempts", v.attempts);
  a("best_attempt", v.best_attempt);
  a("device", v.device);
  a("seconds", v.seconds);
  a("date", v.date);
}

int64_t Tokens(const nlohmann::json& usage, const char* name) {
  const auto found = usage.find(name);
  return found != usage.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

}  // namespace

const char* ToString(Outcome outcome) {
  for (const auto& [value, name] : kOutcomes) {
    if (value == outcome) return name;
  }
  return "infra_error";
}

std::optional<Outcome> OutcomeFromString(const std::string& text) {
  for (const auto& [value, name] : kOutcomes) {
    if (text == name) return value;
  }
  return std::nullopt;
}

Row RowOf(const Problem& problem, int sample) {
  Row row;
  row.problem = problem.key;
  row.level = problem.level;
  row.problem_id = problem.id;
  row.name = problem.name;
  row.sample = sample;
  row.model_sha256 = problem.sha256;
  row.consts = problem.consts;
  return row;
}

nlohmann::json ToJson(const Row& row) {
  protocol::Writer writer;
  Describe(writer, row);
  nlohmann::json json = writer.Take();
  json["schema"] = 1;
  json["outcome"] = ToString(row.outcome);
  if (row.usage.total_tokens() > 0) json["usage"] = protocol::ToJson(row.usage);
  if (row.evaluation) json["evaluation"] = protocol::ToJson(*row.evaluation);
  return json;
}

Result<Row> RowFromJson(const nlohmann::json& json) {
  const auto bad = [](const std::string& what) {
    return Fail(ErrorCode::kUsage, "This is no row of a bench: " + what);
  };
  if (!json.is_object() || json.value("schema", nlohmann::json()) != 1) {
    return bad("it is no object with \"schema\": 1.");
  }
  Row row;
  std::optional<std::string> trouble;
  protocol::Reader reader(json, "row", &trouble);
  Describe(reader, row);
  if (trouble) return bad(util::SanitiseLog(*trouble, 400) + ".");
  const auto outcome = json.value("outcome", nlohmann::json());
  const auto known = outcome.is_string() ? OutcomeFromString(outcome) : std::nullopt;
  if (!known) return bad("row.outcome is no known name.");
  row.outcome = *known;
  if (const auto usage = json.find("usage"); usage != json.end() && usage->is_object()) {
    row.usage.prompt_tokens = Tokens(*usage, "prompt_tokens");
    row.usage.completion_tokens = Tokens(*usage, "completion_tokens");
    row.usage.reasoning_tokens = Tokens(*usage, "reasoning_tokens");
    row.usage.cached_tokens = Tokens(*usage, "cached_tokens");
  }
  if (const auto found = json.find("evaluation"); found != json.end()) {
    auto evaluation = protocol::EvaluationFromJson(*found);
    if (!evaluation) return bad(evaluation.error().message);
    row.evaluation = std::move(*evaluation);
  }
  return row;
}

std::optional<Speedup> SpeedupOf(const Row& row) {
  if (!row.correct() || !row.evaluation) return std::nullopt;
  return reward::DecidingSpeedup(*row.evaluation);
}

}  // namespace cudaagent::bench
