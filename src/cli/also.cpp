#include "cli/also.h"

#include "util/text.h"

namespace cudaagent::cli {
namespace {

// Splits at commas outside of brackets and quotes.
std::vector<std::string> SplitConstants(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

AlsoResult Judged(const AlsoShape& shape, const Evaluation& evaluation) {
  AlsoResult result{shape.text, evaluation.verdict, false, evaluation.message};
  result.refused = evaluation.verdict == Verdict::kBadCandidate &&
                   util::StartsWith(evaluation.message, "require[");
  if (result.refused) result.message = "the plan refuses these shapes: " + evaluation.message;
  return result;
}

}  // namespace

Result<std::vector<AlsoShape>> AlsoShapes(const ProblemSpec& spec,
                                          const std::vector<std::string>& texts) {
  std::vector<AlsoShape> shapes;
  for (const std::string& text : texts) {
    AlsoShape shape{text, spec};
    auto constants = ToConstants("--also-const", SplitConstants(text));
    if (!constants) return tl::unexpected(constants.error());
    for (auto& [name, value] : *constants) shape.spec.consts[name] = value;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Result<std::vector<std::vector<AlsoResult>>> VerifyAlso(const std::vector<AlsoShape>& shapes,
                                                        const std::vector<Candidate>& candidates,
                                                        const EvalFlags& flags,
                                                        const OutputFlags& output) {
  std::vector<std::vector<AlsoResult>> results(candidates.size());
  if (candidates.empty()) return results;
  EvalFlags checking = flags;
  checking.options.check_only = true;
  for (const AlsoShape& shape : shapes) {
    auto evaluator = evaluate::StartEvaluator(ToConfig(shape.spec, checking, output));
    if (!evaluator) {
      return Fail(evaluator.error().code,
                  "With --also-const " + shape.text + ": " + evaluator.error().message);
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
      auto evaluation = (*evaluator)->Evaluate(candidates[i]);
      if (!evaluation) return tl::unexpected(evaluation.error());
      results[i].push_back(Judged(shape, *evaluation));
    }
  }
  return results;
}

nlohmann::json AlsoJson(const std::vector<AlsoResult>& results) {
  nlohmann::json rows = nlohmann::json::array();
  for (const AlsoResult& each : results) {
    rows.push_back({{"consts", each.shape},
                    {"verdict", std::string(ToString(each.verdict))},
                    {"refused", each.refused},
                    {"message", each.message}});
  }
  return rows;
}

std::string AlsoText(const std::vector<AlsoResult>& results) {
  std::string text;
  for (const AlsoResult& each : results) {
    text += "  also " + each.shape + ": " + std::string(ToString(each.verdict)) + ": " +
            each.message + "\n";
  }
  return text;
}

}  // namespace cudaagent::cli
