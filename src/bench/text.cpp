#include "bench/text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <tuple>

#include "bench/quality.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

std::string OneLine(const std::string& text, size_t max_bytes) {
  std::string line = util::SanitiseLog(text.substr(0, text.find('\n')), 4096);
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.size() <= max_bytes) return line;
  line.resize(max_bytes - 3);
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) line.pop_back();
  if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0x80) line.pop_back();
  return line + "...";
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Figure(const std::optional<double>& value, bool estimated) {
  return value ? fmt::format("{}{:.3f}x", estimated ? "~" : "", *value) : "-";
}

void AddScoreLines(const std::string& name, const Scores& s, std::string* text) {
  *text += fmt::format("{}: {} of {} correct ({})", name, s.correct, s.problems,
                       Percent(s.problems > 0 ? static_cast<double>(s.correct) / s.problems : 0));
  *text +=
      s.own_kernels > 0 ? fmt::format(", {} with kernels of their own\n", s.own_kernels) : "\n";
  std::string fast, fast_eager;
  for (const auto& [p, share] : s.fast_p) fast += fmt::format("  >{} {:>7}", p, Percent(share));
  for (const auto& [p, share] : s.fast_p_eager)
    fast_eager += fmt::format("  >{} {:>7}", p, Percent(share));
  *text += "  fast_p           " + fast + "\n";
  if (s.fast_p != s.fast_p_eager) *text += "  fast_p over eager" + fast_eager + "\n";
  *text += fmt::format(
      "  geomean           over eager {}, over compile {}, of {} correct and timed; {} failed\n",
      Figure(s.geomean_eager, s.estimated), Figure(s.geomean_compile, s.estimated), s.geomean_n,
      s.problems - s.correct);
  if (s.geomean_sol) {
    *text += fmt::format("  speed of light    {} (geometric mean of {})\n", Percent(*s.geomean_sol),
                         s.sol_n);
  }
  for (const PassAt& pass : s.pass_at) {
    if (s.rows <= s.problems) break;
    *text +=
        fmt::format("  pass@{:<13}{} of {} problems\n", pass.k, Percent(pass.value), pass.problems);
  }
  if (s.best_of_samples_fast_1) {
    *text += fmt::format("  fast_1 of the best sample  {}\n", Percent(*s.best_of_samples_fast_1));
  }
}

}  // namespace

std::vector<Row> Sorted(std::vector<Row> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.level, a.problem_id, a.problem, a.sample) <
           std::tie(b.level, b.problem_id, b.problem, b.sample);
  });
  return rows;
}

std::string OutcomeText(const Row& row) {
  if (!row.correct()) {
    const std::string verdict = row.outcome == Outcome::kIncorrect && row.evaluation
                                    ? std::string(cudaagent::ToString(row.evaluation->verdict))
                                    : ToString(row.outcome);
    return verdict + ": " + OneLine(row.message, 100);
  }
  std::string text = "correct";
  if (const auto speedup = SpeedupOf(row)) {
    const bool compile =
        row.evaluation->protocol.baseline == "compile" && row.evaluation->speedup_compile;
    text = fmt::format("correct  {}{:.2f}x over {}", row.evaluation->estimated ? "~" : "",
                       speedup->value, compile ? "compile" : "eager");
  } else {
    text += ", not timed";
  }
  if (row.evaluation->own_kernel_share.value_or(0) <= 0 && row.attempts > 1)
    text += ", no kernel of its own";
  return WhyDegenerate(row).empty() ? text : text + ", degenerate problem";
}

std::string RowsText(const std::vector<Row>& rows) {
  size_t width = 7;
  const bool several =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.sample > 0; });
  for (const Row& row : rows) width = std::max(width, row.problem.size());
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}", row.problem, width);
    if (several) text += fmt::format("  {:>3}", row.sample);
    text += "  " + OutcomeText(row) + "\n";
  }
  return text;
}

std::string ScoresText(const ScoreTable& table) {
  std::string text;
  for (const auto& [level, scores] : table.levels) {
    if (table.levels.size() > 1) AddScoreLines(fmt::format("level {}", level), scores.first, &text);
  }
  AddScoreLines("all", table.all, &text);
  if (table.without_degenerate.problems != table.all.problems) {
    AddScoreLines("without degenerate problems", table.without_degenerate, &text);
  }
  if (table.all.tokens > 0) text += fmt::format("tokens: {}\n", table.all.tokens);
  if (table.all.estimated) text += "times are the CPU device's estimates, no measurements\n";
  return text;
}

std::string CsvField(const std::string& text) {
  std::string field = util::SanitiseUtf8(text);
  if (!field.empty() && std::string("=+-@\t\r").find(field[0]) != std::string::npos)
    field = "'" + field;
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string Csv(const std::vector<Row>& rows) {
  std::string text =
      "problem,level,problem_id,name,sample,outcome,verdict,speedup,speedup_low,speedup_high,"
      "speedup_eager,"
      "speedup_compile,median_ms,eager_ms,compile_ms,sol,estimated,degenerate,own_kernel_share,"
      "attempts,best_attempt,"
      "tokens,seconds,device,origin,model_sha256,candidate_sha256,message\r\n";
  const auto number = [](double value) { return fmt::format("{:.17g}", value); };
  for (const Row& row : rows) {
    const Evaluation* e = row.evaluation ? &*row.evaluation : nullptr;
    const auto speedup = SpeedupOf(row);
    const auto of = [&](const std::optional<Speedup>& s) {
      return row.correct() && s ? number(s->value) : "";
    };
    const auto ms = [&](const std::optional<Timing>& t) { return t ? number(t->median_ms) : ""; };
    const std::vector<std::string> fields = {
        row.problem,
        std::to_string(row.level),
        std::to_string(row.problem_id),
        row.name,
        std::to_string(row.sample),
        ToString(row.outcome),
        e ? std::string(cudaagent::ToString(e->verdict)) : "",
        speedup ? number(speedup->value) : "",
        speedup ? number(speedup->low) : "",
        speedup ? number(speedup->high) : "",
        e ? of(e->speedup_eager) : "",
        e ? of(e->speedup_compile) : "",
        e ? ms(e->candidate) : "",
        e ? ms(e->eager) : "",
        e ? ms(e->compiled_baseline) : "",
        e && row.correct() && e->sol ? number(*e->sol) : "",
        e && e->estimated ? "true" : "false",
        WhyDegenerate(row).empty() ? "false" : "true",
        e && e->own_kernel_share ? number(*e->own_kernel_share) : "",
        std::to_string(row.attempts),
        std::to_string(row.best_attempt),
        std::to_string(row.usage.total_tokens()),
        number(row.seconds),
        row.device,
        row.origin,
        row.model_sha256,
        e ? e->candidate_hash : "",
        util::SanitiseLog(row.message, 2000)};
    for (size_t i = 0; i < fields.size(); ++i) {
      // A number may begin with a minus.
      const bool numeric = fields[i] == "-1";
      text += (i > 0 ? "," : "") + (numeric ? fields[i] : CsvField(fields[i]));
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace cudaagent::bench
