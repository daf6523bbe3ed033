#include "bench/ci.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "bench/quality.h"
#include "bench/text.h"
#include "report/html.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

constexpr size_t kMaxAnnotations = 10;  // GitHub shows no more of a kind and step

bool IsError(Outcome outcome) {
  return outcome == Outcome::kProblemFailed || outcome == Outcome::kInfraError;
}

std::string FailureType(const Row& row) {
  if (row.outcome == Outcome::kTimedOut) return "timeout";
  if (row.outcome == Outcome::kNoCandidate) return "no_candidate";
  if (!row.evaluation) return "incorrect";
  switch (row.evaluation->verdict) {
    case Verdict::kCompileFailed:
    case Verdict::kBadCandidate:
      return "compile";
    case Verdict::kSuspectedHack:
      return "hack";
    default:
      return "incorrect";
  }
}

std::string CaseName(const Row& row) {
  return row.sample == 0 ? row.name : fmt::format("{} sample {}", row.name, row.sample);
}

const ProblemChange* RegressionOf(const Row& row, const GateReport& gates) {
  for (const ProblemChange& change : gates.changes) {
    if (change.regression() && change.problem == row.problem && change.sample == row.sample)
      return &change;
  }
  return nullptr;
}

std::string TimingText(const std::string& name, const std::optional<Timing>& t) {
  if (!t) return "";
  return fmt::format("{} {:.6g} ms [{:.6g}, {:.6g}], {} samples, {}\n", name, t->median_ms,
                     t->ci_low_ms, t->ci_high_ms, t->samples, t->clock);
}

std::string SystemOut(const Row& row) {
  std::string text = OutcomeText(row) + "\n";
  if (!row.evaluation) return text;
  const Evaluation& e = *row.evaluation;
  text += e.message + "\n" + TimingText("kernel", e.candidate) + TimingText("eager", e.eager) +
          TimingText("compile", e.compiled_baseline);
  return text + fmt::format("device {} ({}), precision {}, tier {}\n", e.device.name, e.device.arch,
                            e.protocol.precision, e.protocol.tier);
}

std::string Case(const Row& row, const std::string& suite, const GateReport& gates) {
  std::string text =
      fmt::format("    <testcase name=\"{}\" classname=\"cudaagent.{}\" time=\"{:.3f}\">\n",
                  EscapeXml(CaseName(row)), EscapeXml(suite), row.seconds);
  const ProblemChange* regression = RegressionOf(row, gates);
  const std::string message = EscapeXml(util::SanitiseLog(row.message, 8000));
  if (regression != nullptr) {
    text += fmt::format("      <failure type=\"regression\" message=\"{}\"/>\n",
                        EscapeXml(regression->words));
  } else if (IsError(row.outcome)) {
    text +=
        fmt::format("      <error type=\"{}\" message=\"{}\"/>\n", ToString(row.outcome), message);
  } else if (row.outcome == Outcome::kUnsupported) {
    text += fmt::format("      <skipped message=\"{}\"/>\n", message);
  } else if (!row.correct()) {
    text += fmt::format("      <failure type=\"{}\" message=\"{}\"/>\n", FailureType(row), message);
  }
  text += "      <system-out>" + EscapeXml(SystemOut(row)) + "</system-out>\n";
  return text + "    </testcase>\n";
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Times(const std::optional<double>& value, bool estimated) {
  return value ? fmt::format("{}{:.3f}x", estimated ? "~" : "", *value) : "–";
}

// "61.2 % of 40"; the column stands where the device has ceilings.
std::string SolText(const Scores& s) {
  return s.geomean_sol ? fmt::format("{} of {}", Percent(*s.geomean_sol), s.sol_n) : "–";
}

std::string ScoreRow(const std::string& name, const Scores& s, bool sol) {
  std::string row = fmt::format("| {} | {} of {} |", name, s.correct, s.problems);
  for (const auto& [p, share] : s.fast_p) row += " " + Percent(share) + " |";
  row += fmt::format(" {} | {} | {} |", Times(s.geomean_eager, s.estimated),
                     Times(s.geomean_compile, s.estimated), s.geomean_n);
  return row + (sol ? " " + SolText(s) + " |\n" : "\n");
}

std::string ScoreTableText(const ScoreTable& table) {
  std::string head = "| | correct |", line = "| --- | ---: |";
  for (const auto& [p, share] : table.all.fast_p) {
    head += " fast_" + p + " |";
    line += " ---: |";
  }
  const bool sol = table.all.geomean_sol.has_value();
  std::string text = head + " geomean over eager | over compile | n |" +
                     (sol ? " speed of light |\n" : "\n") + line + " ---: | ---: | ---: |" +
                     (sol ? " ---: |\n" : "\n");
  for (const auto& [level, scores] : table.levels)
    text += ScoreRow(fmt::format("level {}", level), scores.first, sol);
  text += ScoreRow("all", table.all, sol);
  if (table.without_degenerate.problems != table.all.problems) {
    text += ScoreRow("without degenerate problems", table.without_degenerate, sol);
  }
  return text + "\n";
}

std::string GateText(const GateReport& gates) {
  std::string text;
  for (const std::string& failure : gates.failures)
    text += "- **gate failed**: " + EscapeMarkdown(failure) + "\n";
  int not_compared = 0;
  for (const ProblemChange& change : gates.changes) {
    not_compared += change.change == Change::kNotCompared ? 1 : 0;
    if (!change.regression()) continue;
    text += fmt::format("- **regression**: {}: {}\n", EscapeMarkdown(change.problem),
                        EscapeMarkdown(change.words));
  }
  for (const std::string& line : gates.dismissed)
    text += "- measured again: " + EscapeMarkdown(line) + "\n";
  if (!gates.changes.empty()) {
    text += fmt::format("- compared with before: {} problems, {} of them could not be compared\n",
                        gates.changes.size(), not_compared);
  }
  return text.empty() ? text : text + "\n";
}

std::string MarkdownRow(const Row& row) {
  return fmt::format("| {} | {} | {} | {} |\n", EscapeMarkdown(row.problem), row.sample,
                     EscapeMarkdown(OutcomeText(row)), util::FormatSeconds(row.seconds));
}

// Appends what still fits, and says how many rows do not.
void AddRows(const std::vector<Row>& rows, const std::string& title, size_t max_bytes,
             std::string* text) {
  constexpr size_t kReserve = 400;
  if (rows.empty()) return;
  *text += fmt::format(
      "<details><summary>{} ({})</summary>\n\n| problem | sample | result | time |\n| --- | ---: | "
      "--- | ---: |\n",
      title, rows.size());
  size_t shown = 0;
  for (const Row& row : rows) {
    const std::string line = MarkdownRow(row);
    if (text->size() + line.size() + kReserve > max_bytes) break;
    *text += line;
    ++shown;
  }
  if (shown < rows.size())
    *text +=
        fmt::format("\n{} more rows do not fit here; report.json has all.\n", rows.size() - shown);
  *text += "\n</details>\n\n";
}

}  // namespace

bool GateReport::failed() const {
  return !failures.empty() || std::any_of(changes.begin(), changes.end(),
                                          [](const ProblemChange& c) { return c.regression(); });
}

std::string EscapeXml(const std::string& text) {
  std::string escaped = report::EscapeMarkup(util::SanitiseLog(text, size_t{1} << 20));
  for (size_t at = 0; (at = escaped.find('\n', at)) != std::string::npos;)
    escaped.replace(at, 1, "&#10;");
  // Two code points that UTF-8 can say and XML cannot.
  for (const char* none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (size_t at; (at = escaped.find(none)) != std::string::npos;) escaped.replace(at, 3, "?");
  }
  return escaped;
}

std::string EscapeMarkdown(const std::string& text) {
  std::string escaped;
  for (const char c : util::SanitiseLog(text, 4096)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '@':
        escaped += "&#64;";
        break;
      case '\n':
        escaped += ' ';
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '{':
      case '}':
      case '[':
      case ']':
      case '(':
      case ')':
      case '#':
      case '|':
      case '!':
      case '~':
      case '$':
      case ':':
        escaped += fmt::format("&#{};", static_cast<int>(c));
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string EscapeCommand(const std::string& text, bool property) {
  std::string escaped;
  for (const char c : util::SanitiseLog(text, 2000)) {
    switch (c) {
      case '%':
        escaped += "%25";
        break;
      case '\r':
        escaped += "%0D";
        break;
      case '\n':
        escaped += "%0A";
        break;
      case ':':
        escaped += property ? "%3A" : ":";
        break;
      case ',':
        escaped += property ? "%2C" : ",";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Junit(const std::vector<Row>& rows, const GateReport& gates) {
  std::map<std::string, std::vector<const Row*>> suites;
  for (const Row& row : rows)
    suites[row.level == 0 ? "problems" : fmt::format("level{}", row.level)].push_back(&row);
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cudaagent bench\">\n";
  for (const auto& [name, members] : suites) {
    int failures = 0, errors = 0, skipped = 0;
    double seconds = 0;
    std::string cases;
    for (const Row* row : members) {
      const bool regression = RegressionOf(*row, gates) != nullptr;
      if (regression) {
        ++failures;
      } else if (IsError(row->outcome)) {
        ++errors;
      } else if (row->outcome == Outcome::kUnsupported) {
        ++skipped;
      } else if (!row->correct()) {
        ++failures;
      }
      seconds += row->seconds;
      cases += Case(*row, name, gates);
    }
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}  </testsuite>\n",
        EscapeXml(name), members.size(), failures, errors, skipped, seconds, cases);
  }
  if (!gates.failures.empty()) {
    text += fmt::format(
        "  <testsuite name=\"gates\" tests=\"{0}\" failures=\"{0}\" errors=\"0\" skipped=\"0\">\n",
        gates.failures.size());
    for (const std::string& failure : gates.failures) {
      const std::string score = failure.substr(0, failure.find(' '));
      text += fmt::format(
          "    <testcase name=\"{}\" classname=\"cudaagent.gates\">\n      <failure type=\"gate\" "
          "message=\"{}\"/>\n    </testcase>\n",
          EscapeXml(score), EscapeXml(failure));
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

std::string Markdown(const std::vector<Row>& rows, const ScoreTable& table, const GateReport& gates,
                     size_t max_bytes) {
  std::string text = fmt::format("### cudaagent bench: {} of {} problems correct\n\n",
                                 table.all.correct, table.all.problems);
  text += ScoreTableText(table);
  if (table.all.estimated) text += "Times are the CPU device's estimates, no measurements.\n\n";
  std::string gate_text = GateText(gates);
  if (gate_text.size() > max_bytes / 4) {
    gate_text.resize(gate_text.rfind('\n', max_bytes / 4) + 1);
    gate_text += "- more are in report.json\n\n";
  }
  text += gate_text;
  std::vector<Row> failed;
  for (const Row& row : rows) {
    if (!row.correct()) failed.push_back(row);
  }
  AddRows(failed, "What failed", max_bytes / 2, &text);
  AddRows(rows, "Every row", max_bytes, &text);
  return text;
}

std::string Annotations(const std::vector<Row>& rows, const GateReport& gates) {
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& title, const std::string& message) {
    lines.push_back(fmt::format("::error title={}::{}\n", EscapeCommand(title, true),
                                EscapeCommand(message, false)));
  };
  for (const std::string& failure : gates.failures) add("cudaagent bench gate", failure);
  for (const ProblemChange& change : gates.changes) {
    if (change.regression()) add("regression of " + change.problem, change.words);
  }
  for (const Row& row : rows) {
    if (!row.correct()) add(row.problem, OutcomeText(row));
  }
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kMaxAnnotations); ++i) text += lines[i];
  return text;
}

}  // namespace cudaagent::bench
