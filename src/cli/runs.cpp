// cudaagent runs, best and export: what is stored. They start nothing and write no run.
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output_file.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"
#include "reward/reward.h"
#include "store/run_list.h"
#include "util/file.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

struct StoredCommand {
  std::string run = "latest";  // for `runs`: the folder
  std::string out = "-";
  std::string format = "jsonl";
  bool json = false;
};

int Deliver(const std::string& text, const std::string& out) {
  auto written = WriteOutputFile(out, text);
  return written ? kExitOk : Report(written.error(), false);
}

nlohmann::json RunJson(const store::RunEntry& entry) {
  nlohmann::json json = {
      {"name", entry.name}, {"folder", entry.folder}, {"state", store::ToString(entry.state)}};
  if (!entry.glance) {
    json["message"] = entry.trouble;
    return json;
  }
  const store::RunGlance& glance = *entry.glance;
  json["model"] = glance.model;
  json["proposer"] = glance.proposer;
  json["started"] = glance.started;
  json["stopped"] = glance.stopped;
  json["attempts"] = glance.attempts;
  if (glance.best) {
    json["best"] = {{"attempt", *glance.best}, {"estimated", glance.best_evaluation->estimated}};
    if (auto speedup = reward::DecidingSpeedup(*glance.best_evaluation)) {
      json["best"]["speedup"] = {
          {"value", speedup->value}, {"low", speedup->low}, {"high", speedup->high}};
    }
  }
  return json;
}

std::string RunLine(const store::RunEntry& entry, size_t name_width) {
  std::string line =
      fmt::format("{:<{}}  {:<11}", entry.name, name_width, store::ToString(entry.state));
  if (!entry.glance) return line + "  " + util::SanitiseLog(entry.trouble) + "\n";
  const store::RunGlance& glance = *entry.glance;
  std::string best = "-";
  if (glance.best) {
    auto speedup = reward::DecidingSpeedup(*glance.best_evaluation);
    best = speedup ? report::SpeedupText(*speedup, glance.best_evaluation->estimated) : "correct";
  }
  return line +
         fmt::format("  {:>8}  {:<20}  {}\n", glance.attempts, best,
                     util::SanitiseLog(std::filesystem::path(glance.model).filename().string()));
}

int RunRuns(const StoredCommand& command) {
  const std::vector<store::RunEntry> entries = store::ListRuns(command.run);
  if (command.json) {
    nlohmann::json runs = nlohmann::json::array();
    for (const store::RunEntry& entry : entries) runs.push_back(RunJson(entry));
    return Deliver(protocol::ToText({{"schema", 1}, {"runs", std::move(runs)}}) + "\n", "-");
  }
  if (entries.empty()) {
    std::fprintf(stderr, "no runs in %s\n", util::SanitiseLog(command.run).c_str());
    return kExitOk;
  }
  size_t width = 4;
  for (const store::RunEntry& entry : entries) width = std::max(width, entry.name.size());
  std::string text = fmt::format("{:<{}}  {:<11}  {:>8}  {:<20}  {}\n", "name", width, "state",
                                 "attempts", "best speedup", "model");
  for (const store::RunEntry& entry : entries) text += RunLine(entry, width);
  return Deliver(text, "-");
}

Result<store::StoredRun> Load(const StoredCommand& command) {
  auto folder = store::FindRun(command.run);
  if (!folder) return tl::unexpected(folder.error());
  return store::ReadRun(*folder);
}

int RunBest(const StoredCommand& command) {
  auto run = Load(command);
  if (!run) return Report(run.error(), command.json);
  const store::StoredAttempt* best = run->best();
  if (best == nullptr) {
    std::fprintf(
        stderr,
        "cudaagent: none of the run's %zu attempts is correct, so there is no best kernel.\n",
        run->attempts.size());
    return kExitNoCorrectCandidate;
  }
  const Attempt& attempt = best->attempt;
  if (!command.json) return Deliver(attempt.candidate.source, command.out);
  const nlohmann::json document = {{"schema", 1},
                                   {"attempt", attempt.number},
                                   {"origin", attempt.candidate.origin},
                                   {"note", attempt.candidate.note},
                                   {"source", attempt.candidate.source},
                                   {"confirmed", attempt.confirmation.has_value()},
                                   {"evaluation", protocol::ToJson(attempt.judgement())}};
  return Deliver(protocol::ToText(document) + "\n", command.out);
}

std::string AttemptJsonLine(const store::StoredAttempt& stored) {
  const Attempt& attempt = stored.attempt;
  nlohmann::json json = {{"schema", 1},
                         {"attempt", attempt.number},
                         {"parent", attempt.parent},
                         {"origin", attempt.candidate.origin},
                         {"note", attempt.candidate.note},
                         {"source", attempt.candidate.source},
                         {"verdict", std::string(ToString(attempt.evaluation.verdict))},
                         {"new_best", stored.new_best},
                         {"evaluation", protocol::ToJson(attempt.evaluation)},
                         {"feedback", attempt.feedback},
                         {"elapsed_s", attempt.elapsed_s}};
  if (attempt.confirmation) json["confirmation"] = protocol::ToJson(*attempt.confirmation);
  if (attempt.evaluation.reward) json["reward"] = *attempt.evaluation.reward;
  if (stored.proposal) {
    json["prompt"] = stored.proposal->prompt;
    json["answer"] = stored.proposal->answer;
    json["usage"] = protocol::ToJson(static_cast<const Usage&>(*stored.proposal));
    if (!stored.proposal->reasoning.empty()) json["reasoning"] = stored.proposal->reasoning;
    if (!stored.proposal->finish_reason.empty())
      json["finish_reason"] = stored.proposal->finish_reason;
    if (!stored.proposal->prompt_hash.empty()) json["prompt_hash"] = stored.proposal->prompt_hash;
  }
  return protocol::ToText(json, -1) + "\n";
}

int RunExport(const StoredCommand& command) {
  auto run = Load(command);
  if (!run) return Report(run.error(), false);
  std::string lines;
  for (const store::StoredAttempt& each : run->attempts) lines += AttemptJsonLine(each);
  return Deliver(lines, command.out);
}

void AddRunArgument(CLI::App& command, StoredCommand& flags) {
  command.add_option("RUN", flags.run, "A run's folder, its name in runs/ or latest")
      ->capture_default_str();
  command.add_option("-o,--out", flags.out, "File to write; - is stdout")->capture_default_str();
}

}  // namespace

Command AddRuns(CLI::App& app) {
  auto command = std::make_shared<StoredCommand>();
  command->run = store::kRunsFolder;
  CLI::App* sub =
      app.add_subcommand("runs", "List the runs of a folder: state, attempts, best speedup, model");
  sub->add_option("DIR", command->run, "The folder that holds the run folders")
      ->capture_default_str();
  sub->add_flag("--json", command->json, "Print one JSON document instead of text");
  return [command] { return RunRuns(*command); };
}

Command AddBest(CLI::App& app) {
  auto command = std::make_shared<StoredCommand>();
  CLI::App* sub = app.add_subcommand("best", "Print the best kernel of a run");
  AddRunArgument(*sub, *command);
  sub->add_flag("--json", command->json, "Print one JSON document: the source and its evaluation");
  return [command] { return RunBest(*command); };
}

Command AddExport(CLI::App& app) {
  auto command = std::make_shared<StoredCommand>();
  CLI::App* sub = app.add_subcommand("export",
                                     "Print every attempt of a run, one JSON document per line: "
                                     "source, evaluation, prompt, answer");
  AddRunArgument(*sub, *command);
  sub->add_option("--format", command->format, "jsonl")
      ->check(CLI::IsMember({"jsonl"}))
      ->capture_default_str();
  return [command] { return RunExport(*command); };
}

}  // namespace cudaagent::cli
