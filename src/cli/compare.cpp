// cudaagent compare A B: which is faster, and how sure that is. It measures nothing.
#include <spdlog/fmt/fmt.h>

#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "protocol/evaluation_json.h"
#include "report/evaluation_text.h"
#include "reward/comparison.h"
#include "store/run_list.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

struct CompareCommand {
  std::string first, second;
  double margin = 0.01;
  bool json = false;
};

// Whether a JSON value is followed by another, as `eval --json` of several kernels prints them.
bool HoldsSeveral(const std::string& text) {
  std::istringstream stream(text);
  try {
    nlohmann::json value;
    stream >> value >> value;
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

// An evaluation as `eval --json` or `best --json` prints it, or as a run folder holds it.
Result<Evaluation> ReadEvaluation(const std::string& path) {
  auto text = util::ReadFile(path, 64 << 20);
  if (!text) return tl::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() && HoldsSeveral(*text)) {
    return Fail(ErrorCode::kUsage,
                path + " holds several evaluations. Give each of the two a file of its own.");
  }
  const auto nested = json.is_object() ? json.find("evaluation") : json.end();
  auto evaluation =
      protocol::EvaluationFromJson(json.is_object() && nested != json.end() ? *nested : json);
  if (evaluation) return evaluation;
  return Fail(ErrorCode::kUsage, path + " holds no evaluation: " + evaluation.error().message +
                                     " Give what `cudaagent eval --json` prints, or a run.");
}

Result<Evaluation> Find(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name, ignored)) return ReadEvaluation(name);
  auto folder = store::FindRun(name);
  if (!folder) return tl::unexpected(folder.error());
  auto run = store::ReadRun(*folder);
  if (!run) return tl::unexpected(run.error());
  if (const store::StoredAttempt* best = run->best()) return best->attempt.judgement();
  return Fail(ErrorCode::kUsage, "The run " + *folder + " has no correct candidate to compare.");
}

std::string Sentence(const reward::Comparison& comparison) {
  std::string relation = reward::ToString(comparison.relation);
  for (char& c : relation) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("{}  the first is {} as fast as the second ({})\n", relation,
                     report::SpeedupText(comparison.ratio, comparison.estimated),
                     comparison.estimated ? "estimates of the CPU device, no measurement"
                     : comparison.by_eager
                         ? "each against the eager it alternated with"
                         : "by their medians; drift of the device does not cancel");
}

int RunCompare(const CompareCommand& command) {
  auto first = Find(command.first);
  if (!first) return Report(first.error(), command.json);
  auto second = Find(command.second);
  if (!second) return Report(second.error(), command.json);
  auto comparison = reward::Compare(*first, *second, command.margin);
  if (!comparison) return Report(comparison.error(), command.json);
  const nlohmann::json document = {{"schema", 1},
                                   {"relation", reward::ToString(comparison->relation)},
                                   {"ratio",
                                    {{"value", comparison->ratio.value},
                                     {"low", comparison->ratio.low},
                                     {"high", comparison->ratio.high}}},
                                   {"margin", command.margin},
                                   {"by_eager", comparison->by_eager},
                                   {"estimated", comparison->estimated}};
  auto printed = Print(command.json ? protocol::ToText(document) + "\n" : Sentence(*comparison));
  if (!printed) return Report(printed.error(), false);
  return comparison->relation == reward::Relation::kSlower ? kExitGate : kExitOk;
}

}  // namespace

Command AddCompare(CLI::App& app) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* sub = app.add_subcommand(
      "compare",
      "Say whether A is FASTER, SLOWER or the SAME as B, or that it is UNSURE; exit 5 for slower");
  sub->add_option("A", command->first,
                  "A file with an evaluation (eval --json), or a run: its best kernel")
      ->required();
  sub->add_option("B", command->second, "What A is compared with")->required();
  sub->add_option("--margin", command->margin, "Differences up to this share are none")
      ->check(Within(0.0, 1.0))
      ->capture_default_str();
  sub->add_flag("--json", command->json, "Print one JSON document instead of text");
  return [command] { return RunCompare(*command); };
}

}  // namespace cudaagent::cli
