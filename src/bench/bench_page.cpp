#include "bench/bench_page.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>

#include "bench/problem_job.h"
#include "bench/quality.h"
#include "bench/text.h"
#include "store/run_list.h"

namespace cudaagent::bench {
namespace {

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Times(const std::optional<double>& value, bool estimated) {
  return value ? fmt::format("{}{:.3f}x", estimated ? "~" : "", *value) : "–";
}

// "61.2 % of 40".
std::string SolText(const Scores& s) {
  return s.geomean_sol ? fmt::format("{} of {}", Percent(*s.geomean_sol), s.sol_n) : "–";
}

std::vector<std::string> ScoreCells(const std::string& name, const Scores& s, bool sol) {
  std::vector<std::string> cells = {name, fmt::format("{} of {}", s.correct, s.problems)};
  for (const auto& [p, share] : s.fast_p) cells.push_back(Percent(share));
  for (const auto& value : {s.geomean_eager, s.geomean_compile})
    cells.push_back(Times(value, s.estimated));
  cells.push_back(std::to_string(s.geomean_n));
  if (sol) cells.push_back(SolText(s));
  return cells;
}

std::vector<std::vector<std::string>> ScoreRows(const ScoreTable& table) {
  std::vector<std::string> head = {"", "correct"};
  for (const auto& [p, share] : table.all.fast_p) head.push_back("fast_" + p);
  for (const char* name : {"geomean over eager", "over compile", "n"}) head.emplace_back(name);
  const bool sol = table.all.geomean_sol.has_value();  // on a device with ceilings
  if (sol) head.emplace_back("speed of light");
  std::vector<std::vector<std::string>> rows = {head};
  for (const auto& [level, scores] : table.levels)
    rows.push_back(ScoreCells(fmt::format("level {}", level), scores.first, sol));
  rows.push_back(ScoreCells("all", table.all, sol));
  if (table.without_degenerate.problems != table.all.problems) {
    rows.push_back(ScoreCells("without degenerate problems", table.without_degenerate, sol));
  }
  return rows;
}

report::PageProblem ProblemOf(const std::string& folder, const Row& row) {
  report::PageProblem problem;
  std::error_code ignored;
  Problem named;
  named.key = row.problem;
  if (std::filesystem::exists(RunFolderOf(folder, named) + "/run.db", ignored)) {
    if (auto run = store::ReadRun(RunFolderOf(folder, named))) problem = report::ProblemOf(*run);
  }
  problem.name =
      row.sample == 0 ? row.problem : fmt::format("{} sample {}", row.problem, row.sample);
  problem.level = row.level;
  problem.outcome = ToString(row.outcome);
  problem.message = row.message;
  problem.degenerate = WhyDegenerate(row);
  problem.speedup = SpeedupOf(row);
  problem.seconds = row.seconds;
  problem.tokens = row.usage.total_tokens();
  problem.verdicts = row.verdicts;
  problem.median_ms.reset();
  problem.floor_ms.reset();
  if (row.correct() && row.evaluation) {
    if (row.evaluation->candidate) problem.median_ms = row.evaluation->candidate->median_ms;
    problem.floor_ms = row.evaluation->floor_ms;
    problem.estimated = row.evaluation->estimated;
  }
  return problem;
}

}  // namespace

report::Page PageOf(const std::string& folder, const StoredBench& bench,
                    const ScoreOptions& options) {
  const Description& description = bench.description;
  std::vector<std::string> keys;
  for (const Problem& problem : description.problems) keys.push_back(problem.key);
  const std::vector<Row> rows = Sorted(bench.rows);
  const ScoreTable table = ScoreAll(rows, keys, options);
  report::Page page;
  page.title = std::filesystem::path(folder).filename();
  page.facts = {{"suite", description.suite},
                {"mode", description.optimize ? "optimize" : "candidates of a folder"},
                {"started", description.started},
                {"rows", fmt::format("{}; {} problems were chosen", rows.size(), keys.size())},
                {"cudaagent", description.version}};
  for (const Row& row : rows) {
    if (!row.evaluation) continue;
    const Evaluation& e = *row.evaluation;
    page.facts.emplace_back("device", e.device.name + " (" + e.device.arch + ")");
    page.facts.emplace_back(
        "rules", fmt::format("precision {}, tolerance {}, {} decides", e.protocol.precision,
                             e.protocol.tier, e.protocol.baseline));
    break;
  }
  if (table.all.estimated)
    page.facts.emplace_back("times", "the CPU device's estimates, no measurements");
  page.scores = ScoreRows(table);
  for (const Row& row : rows) page.problems.push_back(ProblemOf(folder, row));
  return page;
}

}  // namespace cudaagent::bench
