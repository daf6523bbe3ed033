// What a bench leaves behind: text or JSON on stdout, report.json in its folder, and the files that
// were asked for.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "bench/ci.h"
#include "bench/kernelbench_files.h"
#include "bench/quality.h"
#include "bench/scores.h"
#include "bench/text.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "protocol/evaluation_json.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

std::vector<std::string> Keys(const bench::Description& description) {
  std::vector<std::string> keys;
  for (const bench::Problem& problem : description.problems) keys.push_back(problem.key);
  return keys;
}

constexpr size_t kMaxSummaryBytes = (size_t{1} << 20) - 4096;  // GitHub refuses more for a step

bench::ScoreTable TableOf(const BenchCommand& command, const bench::BenchFolder& folder,
                          const std::vector<bench::Row>& rows) {
  bench::ScoreOptions options;
  options.p = command.p;
  options.k = command.k;
  // What is gated is scored.
  for (const std::string& text : command.fail_under) {
    const auto requirement = bench::ParseRequirement(text);
    if (!requirement) continue;
    const std::string& name = requirement->score;
    if (name.rfind("fast_", 0) == 0) options.p.push_back(std::atof(name.c_str() + 5));
    if (name.rfind("pass@", 0) == 0) options.k.push_back(std::atoi(name.c_str() + 5));
  }
  std::erase_if(options.k, [](int k) { return k < 1; });
  std::sort(options.k.begin(), options.k.end());
  options.k.erase(std::unique(options.k.begin(), options.k.end()), options.k.end());
  return bench::ScoreAll(rows, Keys(folder.description()), options);
}

const char* NameOf(bench::Change change) {
  switch (change) {
    case bench::Change::kSame:
      return "same";
    case bench::Change::kFaster:
      return "faster";
    case bench::Change::kSlower:
      return "slower";
    case bench::Change::kBroken:
      return "broken";
    case bench::Change::kNotCompared:
      return "not_compared";
  }
  return "not_compared";
}

nlohmann::json ToJson(const bench::GateReport& gates) {
  nlohmann::json changes = nlohmann::json::array();
  for (const bench::ProblemChange& change : gates.changes) {
    changes.push_back({{"problem", change.problem},
                       {"sample", change.sample},
                       {"change", NameOf(change.change)},
                       {"message", change.words}});
  }
  return {{"failed", gates.failed()},
          {"failures", gates.failures},
          {"changes", std::move(changes)},
          {"dismissed", gates.dismissed}};
}

nlohmann::json ReportJson(const bench::BenchFolder& folder, const bench::ScoreTable& table,
                          const std::vector<bench::Row>& rows, const bench::GateReport& gates) {
  const bench::Description& description = folder.description();
  nlohmann::json json = {{"schema", 1},
                         {"folder", folder.folder()},
                         {"suite", description.suite},
                         {"mode", description.optimize                      ? "optimize"
                                  : description.flags.contains("--results") ? "results"
                                                                            : "candidates"},
                         {"started", description.started},
                         {"version", description.version},
                         {"arguments", description.arguments},
                         {"problems", Keys(description)},
                         {"scores", bench::ToJson(table)},
                         {"gates", ToJson(gates)},
                         {"rows", nlohmann::json::array()}};
  for (const bench::Row& row : rows) {
    json["rows"].push_back(bench::ToJson(row));
    const std::string why = bench::WhyDegenerate(row);
    if (!why.empty()) json["rows"].back()["degenerate"] = why;
  }
  return json;
}

// Appends; other steps' words stay.
Result<void> AppendSummary(const std::string& path, const std::vector<bench::Row>& rows,
                           const bench::ScoreTable& table, const bench::GateReport& gates) {
  std::error_code none;
  const auto before = std::filesystem::file_size(path, none);
  const size_t used = none ? 0 : static_cast<size_t>(before);
  if (used + 1024 >= kMaxSummaryBytes) return {};
  std::ofstream file(path, std::ios::app);
  file << bench::Markdown(rows, table, gates, kMaxSummaryBytes - used);
  file.flush();
  if (file) return {};
  return Fail(ErrorCode::kEnvironment, "Could not write " + path + " (GITHUB_STEP_SUMMARY).");
}

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Written whole or not at all.
Result<void> WriteTo(const std::string& path, const std::string& text) {
  return path.empty() ? Result<void>{} : WriteOutputFile(path, text);
}

std::string GateText(const bench::GateReport& gates) {
  std::string text;
  for (const std::string& failure : gates.failures) text += "gate failed: " + failure + "\n";
  int compared = 0;
  for (const bench::ProblemChange& change : gates.changes) {
    compared += change.change != bench::Change::kNotCompared ? 1 : 0;
    if (change.change == bench::Change::kSame) continue;
    text += fmt::format("{}: {}: {}\n", change.regression() ? "regression" : NameOf(change.change),
                        change.problem, change.words);
  }
  for (const std::string& line : gates.dismissed) text += "measured again: " + line + "\n";
  if (!gates.changes.empty())
    text +=
        fmt::format("compared with before: {} of {} problems\n", compared, gates.changes.size());
  return text;
}

}  // namespace

Result<Gates> ReadGates(const BenchCommand& command) {
  Gates gates;
  for (const std::string& text : command.fail_under) {
    auto requirement = bench::ParseRequirement(text);
    if (!requirement) return tl::unexpected(requirement.error());
    // A name that no score has is told before hours of work.
    const auto known =
        bench::Figure(bench::Score({}, {},
                                   {{std::atof(requirement->score.c_str() +
                                               std::min<size_t>(5, requirement->score.size()))},
                                    {}}),
                      requirement->score);
    if (!known && known.error().message.find("There is no score") == 0)
      return tl::unexpected(known.error());
    gates.requirements.push_back(*requirement);
  }
  if (command.against.empty()) return gates;
  auto rows = bench::ReadRows(command.against);
  if (!rows) return tl::unexpected(rows.error());
  gates.before = std::move(*rows);
  const bool any = std::any_of(gates.before.begin(), gates.before.end(),
                               [](const bench::Row& row) { return row.correct(); });
  if (any) return gates;
  return Fail(ErrorCode::kUsage,
              "--against " + command.against +
                  " holds no correct row: a gate against it would compare "
                  "nothing and always pass. Name an earlier bench that has one.");
}

Result<bench::GateReport> JudgeGates(
    const BenchCommand& command, const Gates& gates, const bench::BenchFolder& folder,
    const std::function<std::vector<bench::Row>(const std::vector<bench::Row>&)>& remeasure) {
  bench::GateReport report;
  const bench::ScoreTable table = TableOf(command, folder, bench::Sorted(folder.rows()));
  for (const bench::Requirement& requirement : gates.requirements) {
    auto failure = bench::Check(requirement, table.all);
    // A score that does not exist, such as the mean of no speedups, is below whatever is asked of
    // it.
    if (!failure) failure = requirement.score + " is required, but " + failure.error().message;
    if (!failure->empty()) report.failures.push_back(*failure);
  }
  if (command.against.empty()) return report;
  report.changes =
      bench::Against(gates.before, folder.rows(), Keys(folder.description()), command.margin);
  std::vector<bench::Row> slower;
  for (const bench::ProblemChange& change : report.changes) {
    if (change.change != bench::Change::kSlower) continue;
    for (const bench::Row& row : folder.rows()) {
      const bool same = row.problem == change.problem && row.sample == change.sample;
      if (same && !row.evaluation->estimated) slower.push_back(row);
    }
  }
  if (slower.empty()) return report;
  const std::vector<bench::Row> again = remeasure(slower);
  for (bench::ProblemChange& change : report.changes) {
    if (change.change != bench::Change::kSlower) continue;
    for (const bench::Row& row : again) {
      if (row.problem != change.problem || row.sample != change.sample || !row.correct()) continue;
      for (const bench::Row& before : gates.before) {
        if (before.problem != row.problem || before.sample != row.sample) continue;
        bench::ProblemChange second = bench::CompareRows(before, row, command.margin);
        if (second.change != bench::Change::kSame && second.change != bench::Change::kFaster)
          continue;
        report.dismissed.push_back(change.problem + ": at first " + change.words + "; then " +
                                   second.words);
        change = std::move(second);
      }
    }
  }
  return report;
}

Result<void> CheckOutputs(const BenchCommand& command) {
  std::map<std::string, std::string> taken;
  if (command.output.json) taken["-"] = "--json";
  for (const auto& [flag, path] :
       {std::pair{"--csv", command.csv}, std::pair{"--junit", command.junit},
        std::pair{"--md", command.md}}) {
    if (path.empty()) continue;
    const std::string place =
        path == "-" ? path : std::filesystem::absolute(path).lexically_normal().string();
    if (const auto [other, fresh] = taken.emplace(place, flag); !fresh) {
      return Fail(ErrorCode::kUsage, other->second + " and " + flag + " both write to " +
                                         (path == "-" ? "stdout" : path) +
                                         ". Name another file for one of them.");
    }
    if (auto possible = TryOutputFile(path); !possible) {
      possible.error().message += std::string(" It was named by ") + flag + ".";
      return possible;
    }
  }
  if (!command.kernelbench_out.empty()) {
    if (auto made = util::MakeDirs(command.kernelbench_out); !made) return made;
    if (auto possible = TryOutputFile(command.kernelbench_out + "/eval_results.json"); !possible)
      return possible;
  }
  if (!IsSet("GITHUB_STEP_SUMMARY")) return {};
  const std::string summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (std::ofstream(summary, std::ios::app)) return {};
  return Fail(ErrorCode::kEnvironment, "Could not write " + summary + " (GITHUB_STEP_SUMMARY).");
}

Result<void> WriteOutputs(const BenchCommand& command, const bench::BenchFolder& folder,
                          const bench::GateReport& gates) {
  const std::vector<bench::Row> rows = bench::Sorted(folder.rows());
  const bench::ScoreTable table = TableOf(command, folder, rows);
  const std::string report = protocol::ToText(ReportJson(folder, table, rows, gates)) + "\n";
  for (const auto& [path, text] :
       {std::pair{folder.folder() + "/report.json", report},
        std::pair{command.csv, command.csv.empty() ? "" : bench::Csv(rows)},
        std::pair{command.junit, command.junit.empty() ? "" : bench::Junit(rows, gates)},
        std::pair{command.md, command.md.empty()
                                  ? ""
                                  : bench::Markdown(rows, table, gates, kMaxSummaryBytes)}}) {
    if (auto written = WriteTo(path, text); !written) return written;
  }
  if (!command.kernelbench_out.empty()) {
    if (auto written = bench::WriteKernelBenchFiles(command.kernelbench_out, rows); !written)
      return written;
  }
  if (IsSet("GITHUB_ACTIONS")) std::fputs(bench::Annotations(rows, gates).c_str(), stderr);
  if (IsSet("GITHUB_STEP_SUMMARY")) {
    if (auto appended = AppendSummary(std::getenv("GITHUB_STEP_SUMMARY"), rows, table, gates);
        !appended)
      return appended;
  }
  if (command.output.json) return Print(report);
  const std::string text = bench::RowsText(rows) + bench::ScoresText(table) + GateText(gates);
  if (command.csv != "-" && command.junit != "-" && command.md != "-") return Print(text);
  // stdout belongs to that file alone.
  if (!command.output.quiet) std::fputs(text.c_str(), stderr);
  return {};
}

}  // namespace cudaagent::cli
