#include "bench/scores.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "bench/quality.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

double Share(int part, int whole) { return whole > 0 ? static_cast<double>(part) / whole : 0; }

std::string NumberText(double value) { return fmt::format("{:g}", value); }

// All of `text`, as a k or a p is written; nullopt for anything else.
std::optional<int> WholeNumber(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 1;
  return good ? std::optional(value) : std::nullopt;
}
std::optional<double> Number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

// The rows of each problem by sample.
using BySample = std::map<int, const Row*>;

std::optional<double> MeanOfLogs(const std::vector<double>& values, bool above_one) {
  std::vector<double> chosen;
  for (double value : values) {
    if (!above_one || value > 1) chosen.push_back(value);
  }
  return GeometricMean(chosen);
}

std::vector<double> Speedups(const std::vector<Sampled>& results, double Sampled::*which) {
  std::vector<double> values;
  for (const Sampled& result : results) {
    if (result.correct && result.*which > 0) values.push_back(result.*which);
  }
  return values;
}

void AddPassAt(const std::map<std::string, BySample>& problems, const std::vector<int>& ks,
               Scores* scores) {
  for (int k : ks) {
    PassAt pass{k, 0, 0};
    for (const auto& [key, samples] : problems) {
      const int n = static_cast<int>(samples.size());
      if (n < k) continue;
      const auto correct = std::count_if(samples.begin(), samples.end(),
                                         [](const auto& s) { return s.second->correct(); });
      pass.value += PassAtK(n, static_cast<int>(correct), k);
      ++pass.problems;
    }
    if (pass.problems == 0) continue;
    pass.value /= pass.problems;
    scores->pass_at.push_back(pass);
  }
}

void AddBestOfSamples(const std::map<std::string, BySample>& problems, Scores* scores) {
  bool several = false;
  std::vector<double> best;
  for (const auto& [key, samples] : problems) {
    several = several || samples.size() > 1;
    double top = 0;
    for (const auto& [number, row] : samples) top = std::max(top, ResultOf(*row).deciding);
    best.push_back(top);
  }
  if (several) scores->best_of_samples_fast_1 = FastP(best, 1, scores->problems);
}

}  // namespace

Sampled ResultOf(const Row& row) {
  Sampled result;
  if (!row.correct() || !row.evaluation) return result;
  result.correct = true;
  if (row.evaluation->speedup_eager) result.eager = row.evaluation->speedup_eager->value;
  if (row.evaluation->speedup_compile) result.compile = row.evaluation->speedup_compile->value;
  if (const auto speedup = SpeedupOf(row)) result.deciding = speedup->value;
  result.sol = row.evaluation->sol.value_or(0);
  return result;
}

double FastP(const std::vector<double>& speedups, double p, int n) {
  if (n <= 0) return 0;
  return static_cast<double>(
             std::count_if(speedups.begin(), speedups.end(), [p](double s) { return s > p; })) /
         n;
}

std::optional<double> GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  int count = 0;
  for (double value : values) {
    if (!(value > 0) || !std::isfinite(value)) continue;
    sum += std::log(value);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

double PassAtK(int n, int c, int k) {
  if (n - c < k) return 1;
  double none = 1;
  for (int i = n - c + 1; i <= n; ++i) none *= 1.0 - static_cast<double>(k) / i;
  return 1 - none;
}

Scores Score(const std::vector<Row>& rows, const std::vector<std::string>& keys,
             const ScoreOptions& options) {
  Scores scores;
  const std::set<std::string> chosen(keys.begin(), keys.end());
  scores.problems = static_cast<int>(chosen.size());
  std::map<std::string, BySample> problems;
  for (const Row& row : rows) {
    if (!chosen.contains(row.problem)) continue;
    problems[row.problem][row.sample] = &row;
  }
  std::vector<Sampled> first;
  for (const std::string& key : chosen) {
    const auto found = problems.find(key);
    if (found == problems.end()) {
      ++scores.outcomes["no_row"];
      continue;
    }
    const Row& row = *found->second.begin()->second;
    ++scores.outcomes[ToString(row.outcome)];
    scores.correct += row.correct() ? 1 : 0;
    scores.own_kernels +=
        row.correct() && row.evaluation && row.evaluation->own_kernel_share.value_or(0) > 0 ? 1 : 0;
    scores.degenerate += WhyDegenerate(row).empty() ? 0 : 1;
    scores.estimated = scores.estimated || (row.evaluation && row.evaluation->estimated);
    first.push_back(ResultOf(row));
    for (const auto& [number, each] : found->second) {
      ++scores.rows;
      scores.tokens += each->usage.total_tokens();
      scores.seconds += each->seconds;
    }
  }
  const std::vector<double> deciding = Speedups(first, &Sampled::deciding);
  const std::vector<double> eager = Speedups(first, &Sampled::eager);
  for (double p : options.p) {
    // Whatever is correct counts for p = 0, timed or not.
    const double share = Share(scores.correct, scores.problems);
    scores.fast_p[NumberText(p)] = p == 0 ? share : FastP(deciding, p, scores.problems);
    scores.fast_p_eager[NumberText(p)] = p == 0 ? share : FastP(eager, p, scores.problems);
  }
  scores.geomean_deciding = GeometricMean(deciding);
  scores.geomean_eager = GeometricMean(eager);
  scores.geomean_compile = GeometricMean(Speedups(first, &Sampled::compile));
  scores.geomean_faster = MeanOfLogs(deciding, true);
  scores.geomean_n = static_cast<int>(deciding.size());
  const std::vector<double> sol = Speedups(first, &Sampled::sol);
  scores.geomean_sol = GeometricMean(sol);
  scores.sol_n = static_cast<int>(sol.size());
  AddPassAt(problems, options.k, &scores);
  AddBestOfSamples(problems, &scores);
  return scores;
}

ScoreTable ScoreAll(const std::vector<Row>& rows, const std::vector<std::string>& keys,
                    const ScoreOptions& options) {
  std::map<std::string, const Row*> first;
  for (const Row& row : rows) {
    const Row*& known = first[row.problem];
    if (known == nullptr || row.sample < known->sample) known = &row;
  }
  const auto sound = [&first](const std::string& key) {
    const auto found = first.find(key);
    if (found != first.end()) return WhyDegenerate(*found->second).empty();
    Row none;  // the list knows it without a row
    const size_t slash = key.find('/');
    none.level = slash == std::string::npos ? 0 : std::atoi(key.c_str() + 5);
    none.name = slash == std::string::npos ? key : key.substr(slash + 1);
    return WhyDegenerate(none).empty();
  };
  std::vector<std::string> without;
  std::map<int, std::pair<std::vector<std::string>, std::vector<std::string>>> by_level;
  for (const std::string& key : keys) {
    const int level = util::StartsWith(key, "level") ? std::atoi(key.c_str() + 5) : 0;
    const bool counts = sound(key);
    if (counts) without.push_back(key);
    if (level == 0) continue;
    by_level[level].first.push_back(key);
    if (counts) by_level[level].second.push_back(key);
  }
  ScoreTable table;
  table.all = Score(rows, keys, options);
  table.without_degenerate = Score(rows, without, options);
  for (const auto& [level, chosen] : by_level) {
    table.levels[level] = {Score(rows, chosen.first, options), Score(rows, chosen.second, options)};
  }
  return table;
}

Result<double> Figure(const Scores& scores, const std::string& name) {
  const auto found = [](const std::optional<double>& value,
                        const std::string& what) -> Result<double> {
    if (value) return *value;
    return Fail(ErrorCode::kUsage,
                "There is no " + what + " to look at: no correct row has that time.");
  };
  if (name == "correctness") return Share(scores.correct, scores.problems);
  if (name == "geomean") return found(scores.geomean_deciding, name);
  if (name == "geomean_eager") return found(scores.geomean_eager, name);
  if (name == "geomean_compile") return found(scores.geomean_compile, name);
  if (name == "geomean_sol") return found(scores.geomean_sol, name);
  const auto k = util::StartsWith(name, "pass@") ? WholeNumber(name.substr(5)) : std::nullopt;
  if (k) {
    for (const PassAt& pass : scores.pass_at) {
      if (pass.k == *k) return pass.value;
    }
    return Fail(
        ErrorCode::kUsage,
        "There is no " + name + ": no problem has that many samples, or --pass-k leaves it out.");
  }
  const bool eager = util::EndsWith(name, "_eager");
  const auto p = util::StartsWith(name, "fast_")
                     ? Number(name.substr(5, name.size() - 5 - (eager ? 6 : 0)))
                     : std::nullopt;
  if (p) {
    const auto& table = eager ? scores.fast_p_eager : scores.fast_p;
    if (const auto row = table.find(NumberText(*p)); row != table.end()) return row->second;
    return Fail(ErrorCode::kUsage,
                "There is no " + name + ": --fast-p does not name " + NumberText(*p) + ".");
  }
  return Fail(ErrorCode::kUsage,
              "There is no score \"" + util::SanitiseLog(name, 60) +
                  "\"; there are fast_P, fast_P_eager, correctness, geomean, geomean_eager, "
                  "geomean_compile, geomean_sol and pass@K (K = 1, 2, ...).");
}

nlohmann::json ToJson(const Scores& scores) {
  nlohmann::json json = {{"problems", scores.problems},
                         {"rows", scores.rows},
                         {"correct", scores.correct},
                         {"own_kernels", scores.own_kernels},
                         {"degenerate", scores.degenerate},
                         {"outcomes", scores.outcomes},
                         {"fast_p", scores.fast_p},
                         {"fast_p_eager", scores.fast_p_eager},
                         {"geomean_n", scores.geomean_n},
                         {"sol_n", scores.sol_n},
                         {"failures", scores.problems - scores.correct},
                         {"tokens", scores.tokens},
                         {"seconds", scores.seconds},
                         {"estimated", scores.estimated}};
  for (const auto& [name, value] :
       {std::pair{"geomean", scores.geomean_deciding},
        std::pair{"geomean_eager", scores.geomean_eager},
        std::pair{"geomean_compile", scores.geomean_compile},
        std::pair{"geomean_faster_only", scores.geomean_faster},
        std::pair{"geomean_sol", scores.geomean_sol},
        std::pair{"fast_1_best_of_samples", scores.best_of_samples_fast_1}}) {
    if (value) json[name] = *value;
  }
  nlohmann::json passes = nlohmann::json::object();
  for (const PassAt& pass : scores.pass_at) {
    passes[std::to_string(pass.k)] = {{"value", pass.value}, {"problems", pass.problems}};
  }
  json["pass_at_k"] = std::move(passes);
  return json;
}

nlohmann::json ToJson(const ScoreTable& table) {
  nlohmann::json json = {{"all", ToJson(table.all)},
                         {"without_degenerate", ToJson(table.without_degenerate)}};
  for (const auto& [level, scores] : table.levels) {
    json["levels"]["level" + std::to_string(level)] = {
        {"all", ToJson(scores.first)}, {"without_degenerate", ToJson(scores.second)}};
  }
  return json;
}

}  // namespace cudaagent::bench
