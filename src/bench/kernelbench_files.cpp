#include "bench/kernelbench_files.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/scores.h"
#include "protocol/evaluation_json.h"
#include "util/file.h"
#include "util/text.h"

namespace cudaagent::bench {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

// A name that stands twice in the outermost object would hide the first of the two.
Result<nlohmann::json> ReadObject(const std::string& path) {
  auto text = util::ReadFile(path, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  std::set<std::string> names;
  std::string twice;
  const auto look = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    const bool name = depth == 1 && event == nlohmann::json::parse_event_t::key;
    if (name && !names.insert(parsed.get<std::string>()).second) twice = parsed.get<std::string>();
    return true;
  };
  const auto bad = [&path](const std::string& why) {
    return Fail(ErrorCode::kUsage, path + " is no JSON object as KernelBench writes them" + why);
  };
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(*text, look);
  } catch (const nlohmann::json::exception& error) {
    return bad(": " + util::SanitiseLog(error.what(), 300) + ".");
  }
  if (!json.is_object()) return bad(".");
  if (!twice.empty()) return bad(": it has \"" + util::SanitiseLog(twice, 60) + "\" twice.");
  return json;
}

std::optional<double> PositiveAt(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return value > 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool TrueAt(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string TextAt(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) return "";
  return util::SanitiseLog(
      found->is_string() ? found->get<std::string>() : protocol::ToText(*found, -1), 2000);
}

Timing Exactly(double ms, int samples) {
  Timing timing;
  timing.median_ms = timing.ci_low_ms = timing.ci_high_ms = ms;
  timing.samples = samples;
  timing.clock = "kernelbench";
  return timing;
}

std::optional<double> TimeOf(const BaselineTimes& times, const Problem& problem) {
  const auto level = times.find(fmt::format("level{}", problem.level));
  if (level == times.end()) return std::nullopt;
  const auto found = level->second.find(problem.name + ".py");
  return found == level->second.end() ? std::nullopt : std::optional(found->second);
}

// Why it failed, in KernelBench's words.
std::string Reason(const nlohmann::json& metadata, const std::string& otherwise) {
  for (const char* key : {"compilation_error", "runtime_error", "correctness_issue", "cuda_error",
                          "error", "other_error"}) {
    const std::string text = TextAt(metadata, key);
    if (!text.empty()) return text;
  }
  return otherwise;
}

// -1 (or none) is how KernelBench says that nothing was timed; any other value must be a time.
Result<void> CheckRuntime(const nlohmann::json& entry, const std::string& where) {
  const auto found = entry.find("runtime");
  if (found == entry.end() || !TrueAt(entry, "correctness") || PositiveAt(entry, "runtime"))
    return {};
  if (found->is_number() && found->get<double>() == -1) return {};
  return Fail(
      ErrorCode::kUsage,
      where + " is said to be correct with a runtime of " +
          util::SanitiseLog(protocol::ToText(*found, -1), 60) +
          ", which is no time in milliseconds; KernelBench writes -1 where nothing was timed.");
}

Row ImportedRow(const Problem& problem, const nlohmann::json& entry, const BaselineTimes& eager,
                const BaselineTimes& compiled) {
  Row row = RowOf(problem, 0);
  const auto sample = entry.find("sample_id");
  if (sample != entry.end() && sample->is_number_integer()) row.sample = sample->get<int>();
  const auto metadata = entry.find("metadata");
  const nlohmann::json& words = metadata == entry.end() ? entry : *metadata;
  row.origin = "KernelBench's evaluator";
  row.attempts = 1;
  const std::string hardware = TextAt(words, "hardware");
  row.device = hardware.empty() ? "not stated" : hardware;
  Evaluation e;
  e.problem_hash = problem.sha256;
  e.device.kind = "gpu";
  e.device.name = hardware;
  e.protocol.tier = "kernelbench";
  e.protocol.clock = "kernelbench";
  e.estimated = TrueAt(words, "estimated");  // ours alone writes it
  e.protocol.note = "as KernelBench's evaluator reported it; nothing was checked here";
  if (!TrueAt(entry, "compiled")) {
    e.verdict = Verdict::kCompileFailed;
    e.message = Reason(words, "It did not compile.");
  } else if (!TrueAt(entry, "correctness")) {
    e.verdict = Verdict::kWrongResult;
    e.message = Reason(words, "Its results are wrong.");
  } else {
    e.verdict = Verdict::kOk;
    e.message =
        "Correct in " + TextAt(words, "correctness_trials") + " trials of KernelBench's evaluator.";
    row.best_attempt = 0;
  }
  const auto stats = entry.find("runtime_stats");
  const auto ms = PositiveAt(entry, "runtime");
  const auto samples = stats == entry.end() ? std::nullopt : PositiveAt(*stats, "num_trials");
  if (e.verdict == Verdict::kOk && ms) {
    e.candidate = Exactly(*ms, static_cast<int>(samples.value_or(0)));
    const auto over = [&](const BaselineTimes& times,
                          std::optional<Timing>* baseline) -> std::optional<Speedup> {
      const auto time = TimeOf(times, problem);
      if (!time) return std::nullopt;
      *baseline = Exactly(*time, 0);
      return Speedup{*time / *ms, *time / *ms, *time / *ms};
    };
    e.speedup_eager = over(eager, &e.eager);
    e.speedup_compile = over(compiled, &e.compiled_baseline);
  }
  e.protocol.baseline = e.speedup_compile ? "compile" : "eager";
  row.outcome = e.verdict == Verdict::kOk ? Outcome::kCorrect : Outcome::kIncorrect;
  row.message = e.message;
  row.verdicts[std::string(cudaagent::ToString(e.verdict))] = 1;
  row.evaluation = std::move(e);
  return row;
}

nlohmann::json StatsOf(const Timing& timing, const DeviceStamp& device) {
  return {{"mean", timing.median_ms},
          {"min", timing.ci_low_ms},
          {"max", timing.ci_high_ms},
          {"num_trials", timing.samples},
          {"hardware", device.name},
          {"device", device.kind},
          {"statistic", "mean is the median; min and max are its 95 % interval"},
          {"clock", timing.clock}};
}

nlohmann::json EvalResultOf(const Row& row) {
  nlohmann::json json = {{"sample_id", row.sample},
                         {"compiled", false},
                         {"correctness", row.correct()},
                         {"runtime", -1.0},
                         {"runtime_stats", nlohmann::json::object()}};
  nlohmann::json metadata = {{"verdict", ToString(row.outcome)},
                             {"message", row.message},
                             {"model_sha256", row.model_sha256}};
  if (row.evaluation) {
    const Evaluation& e = *row.evaluation;
    metadata["verdict"] = std::string(cudaagent::ToString(e.verdict));
    metadata["hardware"] = e.device.name;
    metadata["device"] = e.device.kind;
    metadata["correctness_trials"] = fmt::format("({} / {})", e.check.passed, e.check.trials);
    metadata["estimated"] = e.estimated;
    const bool refused =
        e.verdict == Verdict::kCompileFailed || e.verdict == Verdict::kBadCandidate;
    json["compiled"] = !refused;
    if (refused) metadata["compilation_error"] = e.message;
    if (!refused && !row.correct()) metadata["correctness_issue"] = e.message;
    if (row.correct() && e.candidate) {
      json["runtime"] = e.candidate->median_ms;
      json["runtime_stats"] = StatsOf(*e.candidate, e.device);
    }
  } else {
    metadata["error"] = row.message;
  }
  json["metadata"] = std::move(metadata);
  return json;
}

// KernelBench sorts its keys as numbers; ours are objects of text keys, so they are written in that
// order by hand.
std::string ObjectByNumber(const std::map<int, nlohmann::json>& members) {
  std::string text = "{";
  for (const auto& [id, value] : members) {
    text +=
        (text.size() > 1 ? ",\n" : "\n") + fmt::format("\"{}\": {}", id, protocol::ToText(value));
  }
  return text + "\n}\n";
}

nlohmann::json PassAtKOf(const std::vector<const Row*>& rows) {
  std::map<int, std::pair<int, int>> counts;  // id -> samples, correct
  for (const Row* row : rows) {
    ++counts[row->problem_id].first;
    counts[row->problem_id].second += row->correct() ? 1 : 0;
  }
  nlohmann::json json = {{"averages", nlohmann::json::object()},
                         {"metadata", {{"by", "cudaagent bench"}}},
                         {"problems", nlohmann::json::object()}};
  for (int k : {1, 3, 5, 10}) {
    double sum = 0;
    int having = 0;
    for (const auto& [id, count] : counts) {
      nlohmann::json& problem = json["problems"][std::to_string(id)];
      problem["total_samples"] = count.first;
      problem["correct_samples"] = count.second;
      if (count.first < k) continue;  // where KernelBench takes n for k
      problem[fmt::format("pass@{}", k)] = PassAtK(count.first, count.second, k);
      sum += PassAtK(count.first, count.second, k);
      ++having;
    }
    if (having > 0) json["averages"][fmt::format("avg_pass@{}", k)] = sum / having;
  }
  return json;
}

Result<void> WriteLevel(const std::string& folder, int level, const std::vector<const Row*>& rows) {
  const std::string below = fmt::format("{}/level{}", folder, level);
  if (auto made = util::MakeDirs(below); !made) return made;
  std::map<int, nlohmann::json> results;
  nlohmann::json eager = nlohmann::json::object(), compiled = nlohmann::json::object();
  const std::string name = fmt::format("level{}", level);
  for (const Row* row : rows) {
    results[row->problem_id].push_back(EvalResultOf(*row));
    if (!row->evaluation) continue;
    const Evaluation& e = *row->evaluation;
    if (e.eager) eager[name][row->name + ".py"] = StatsOf(*e.eager, e.device);
    if (e.compiled_baseline)
      compiled[name][row->name + ".py"] = StatsOf(*e.compiled_baseline, e.device);
  }
  std::vector<std::pair<std::string, std::string>> files = {
      {"eval_results.json", ObjectByNumber(results)},
      {"pass_at_k_results.json", protocol::ToText(PassAtKOf(rows)) + "\n"},
      {"baseline_time_torch.json", protocol::ToText(eager) + "\n"}};
  if (!compiled.empty()) {
    files.emplace_back("baseline_time_torch_compile_inductor_default.json",
                       protocol::ToText(compiled) + "\n");
  }
  for (const auto& [file, text] : files) {
    if (auto written = util::WriteFileAtomic(below + "/" + file, text); !written) return written;
  }
  return {};
}

}  // namespace

Result<BaselineTimes> ReadBaselineTimes(const std::string& path) {
  BaselineTimes times;
  if (path.empty()) return times;
  auto json = ReadObject(path);
  if (!json) return tl::unexpected(json.error());
  for (const auto& [level, problems] : json->items()) {
    if (!util::StartsWith(level, "level") || !problems.is_object()) continue;
    for (const auto& [name, stats] : problems.items()) {
      if (const auto mean = PositiveAt(stats, "mean")) times[level][name] = *mean;
    }
  }
  if (!times.empty()) return times;
  return Fail(ErrorCode::kUsage,
              path + " holds no times: {\"level1\": {\"1_Name.py\": {\"mean\": MS, ...}}}.");
}

std::vector<std::string> TimesOfNone(const BaselineTimes& times,
                                     const std::vector<Problem>& problems) {
  std::set<std::string> levels, known;
  for (const Problem& problem : problems) {
    levels.insert(fmt::format("level{}", problem.level));
    known.insert(fmt::format("level{}/{}.py", problem.level, problem.name));
  }
  std::vector<std::string> none;
  for (const auto& [level, entries] : times) {
    if (!levels.contains(level)) continue;
    for (const auto& [name, time] : entries) {
      if (!known.contains(level + "/" + name)) none.push_back(level + "/" + name);
    }
  }
  return none;
}

std::vector<std::string> WithoutTime(const BaselineTimes& times, const std::vector<Row>& rows) {
  std::set<std::string> keys;
  for (const Row& row : rows) {
    const auto level = times.find(fmt::format("level{}", row.level));
    const bool timed = level != times.end() && level->second.contains(row.name + ".py");
    if (row.correct() && !timed) keys.insert(row.problem);
  }
  return {keys.begin(), keys.end()};
}

Result<std::vector<Row>> ReadEvalResults(const std::string& path,
                                         const std::vector<Problem>& problems,
                                         const BaselineTimes& eager, const BaselineTimes& compiled,
                                         int* unknown) {
  auto json = ReadObject(path);
  if (!json) return tl::unexpected(json.error());
  std::map<std::string, const Problem*> by_id;
  for (const Problem& problem : problems) {
    if (by_id.emplace(std::to_string(problem.id), &problem).second) continue;
    return Fail(ErrorCode::kUsage,
                "eval_results.json numbers the problems of one level; this selection has several. "
                "Choose it with --level.");
  }
  std::vector<Row> rows;
  std::set<std::pair<std::string, int>> samples;
  for (const auto& [id, entries] : json->items()) {
    const auto problem = by_id.find(id);
    if (problem == by_id.end()) {
      ++*unknown;
      continue;
    }
    // Older versions hold one object, newer ones a list of samples.
    const nlohmann::json list = entries.is_array() ? entries : nlohmann::json::array({entries});
    for (const nlohmann::json& entry : list) {
      if (!entry.is_object()) {
        return Fail(ErrorCode::kUsage, fmt::format("{}: an entry of problem {} is no object.", path,
                                                   util::SanitiseLog(id, 40)));
      }
      Row row = ImportedRow(*problem->second, entry, eager, compiled);
      const std::string where = fmt::format("{}: sample {} of problem {}", path, row.sample, id);
      if (!samples.emplace(row.problem, row.sample).second)
        return Fail(ErrorCode::kUsage, where + " stands there twice.");
      if (auto checked = CheckRuntime(entry, where); !checked)
        return tl::unexpected(checked.error());
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Result<void> WriteKernelBenchFiles(const std::string& folder, const std::vector<Row>& rows) {
  std::map<int, std::vector<const Row*>> levels;
  for (const Row& row : rows) levels[row.level].push_back(&row);
  for (const auto& [level, members] : levels) {
    if (auto written = WriteLevel(folder, level, members); !written) return written;
  }
  return {};
}

}  // namespace cudaagent::bench
