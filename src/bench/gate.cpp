#include "bench/gate.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "reward/comparison.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kOtherInputs = 0.005;
constexpr double kSigmasOfInterval = 2 * 1.959964;  // a 95 % interval is this wide

ProblemChange CompareTimes(const Row& before, const Row& now, double margin, ProblemChange change) {
  auto comparison = reward::Compare(*now.evaluation, *before.evaluation, margin);
  if (!comparison) {
    change.words = comparison.error().message;
    return change;
  }
  const reward::Comparison& c = *comparison;
  const double sigma = std::log(c.ratio.high / c.ratio.low) / kSigmasOfInterval;
  // The same kernel and seed draw the same inputs; others may cost a branch more or less.
  const bool same_inputs = before.evaluation->check.seeds == now.evaluation->check.seeds;
  const double threshold = c.estimated ? (same_inputs ? kRounding : kOtherInputs)
                                       : std::max(std::log1p(margin), 3 * sigma);
  const double difference = std::log(c.ratio.value);
  change.change = difference < -threshold  ? Change::kSlower
                  : difference > threshold ? Change::kFaster
                                           : Change::kSame;
  const char* why = c.estimated ? (same_inputs ? "estimates are exact" : "estimates, other inputs")
                    : 3 * sigma > std::log1p(margin) ? "3 sigma"
                                                     : "--margin";
  change.words =
      fmt::format("{}{:.4g}x the speed it had (threshold {:.2g} %, {})", c.estimated ? "~" : "",
                  c.ratio.value, 100 * std::expm1(threshold), why);
  return change;
}

}  // namespace

Result<Requirement> ParseRequirement(const std::string& text) {
  const size_t equals = text.rfind('=');
  Requirement requirement;
  if (equals != std::string::npos && equals > 0) {
    requirement.score = text.substr(0, equals);
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + equals + 1, end, requirement.least);
    if (error == std::errc() && stopped == end && std::isfinite(requirement.least))
      return requirement;
  }
  return Fail(ErrorCode::kUsage,
              "--fail-under " + util::SanitiseLog(text, 60) +
                  " is not SCORE=NUMBER. Write for example --fail-under fast_1=0.6.");
}

Result<std::string> Check(const Requirement& requirement, const Scores& scores) {
  const auto value = Figure(scores, requirement.score);
  if (!value) return tl::unexpected(value.error());
  if (*value >= requirement.least) return std::string();
  return fmt::format("{} is {:.4g}, below the {:.4g} that --fail-under asks for.",
                     requirement.score, *value, requirement.least);
}

ProblemChange CompareRows(const Row& before, const Row& now, double margin) {
  ProblemChange change{before.problem, before.sample, Change::kNotCompared, ""};
  if (now.outcome == Outcome::kInfraError || now.outcome == Outcome::kUnsupported) {
    change.words = "It could not be judged now: " + now.message;
    return change;
  }
  if (!now.correct()) {
    change.change = Change::kBroken;
    change.words = fmt::format("It was correct; now it is {}: {}", ToString(now.outcome),
                               util::SanitiseLog(now.message, 500));
    return change;
  }
  if (!before.evaluation || !now.evaluation || !before.evaluation->candidate ||
      !now.evaluation->candidate) {
    change.words = "One of the two was not timed.";
    return change;
  }
  return CompareTimes(before, now, margin, std::move(change));
}

std::vector<ProblemChange> Against(const std::vector<Row>& before, const std::vector<Row>& now,
                                   const std::vector<std::string>& keys, double margin) {
  std::map<std::pair<std::string, int>, const Row*> rows;
  for (const Row& row : now) rows[{row.problem, row.sample}] = &row;
  std::vector<ProblemChange> changes;
  for (const Row& row : before) {
    if (!row.correct() || std::find(keys.begin(), keys.end(), row.problem) == keys.end()) continue;
    const auto found = rows.find({row.problem, row.sample});
    if (found == rows.end()) {
      changes.push_back({row.problem, row.sample, Change::kNotCompared, "It has no row now."});
    } else {
      changes.push_back(CompareRows(row, *found->second, margin));
    }
  }
  return changes;
}

}  // namespace cudaagent::bench
