#include "store/run_files.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "protocol/evaluation_json.h"
#include "store/best_readme.h"
#include "util/file.h"

namespace cudaagent::store {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::pair<std::string, std::string>>;  // name, text; in order of writing

std::string Page(const nlohmann::json& json) { return protocol::ToText(json) + "\n"; }

bool Holds(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  auto present = util::ReadFile(path, text.size());
  return present && *present == text;
}

Result<void> WriteFiles(const std::string& folder, const Files& files) {
  if (auto made = util::MakeDirs(folder); !made) return made;
  for (const auto& [name, text] : files) {
    const std::string path = folder + "/" + name;
    if (Holds(path, text)) continue;
    if (auto written = util::WriteFileAtomic(path, text); !written) return written;
  }
  return {};
}

Files AttemptFiles(const Attempt& attempt, const Proposal* proposal) {
  nlohmann::json json = protocol::ToJson(attempt.evaluation);
  json["attempt"] = attempt.number;
  json["parent"] = attempt.parent;
  json["origin"] = attempt.candidate.origin;
  json["note"] = attempt.candidate.note;
  Files files = {{"kernel.cu", attempt.candidate.source},
                 {"build.log", attempt.evaluation.compile.log},
                 {"feedback.txt", attempt.feedback}};
  if (proposal != nullptr && !proposal->prompt.empty())
    files.emplace_back("prompt.md", proposal->prompt);
  if (proposal != nullptr && !proposal->answer.empty())
    files.emplace_back("answer.md", proposal->answer);
  if (proposal != nullptr && !proposal->reasoning.empty())
    files.emplace_back("reasoning.md", proposal->reasoning);
  if (proposal != nullptr && !proposal->finish_reason.empty())
    json["finish_reason"] = proposal->finish_reason;
  if (proposal != nullptr && !proposal->prompt_hash.empty())
    json["prompt_hash"] = proposal->prompt_hash;
  if (proposal != nullptr && proposal->total_tokens() > 0)
    json["usage"] = protocol::ToJson(static_cast<const Usage&>(*proposal));
  // Last, so that a folder with an evaluation is whole.
  files.emplace_back("evaluation.json", Page(json));
  return files;
}

Files BestFiles(const std::string& folder, const Attempt& attempt,
                const RunDescription& description) {
  std::vector<std::string> recheck = description.recheck;
  recheck.push_back(folder + "/best/kernel.cu");
  return {{"kernel.cu", attempt.candidate.source},
          {"evaluation.json", Page(protocol::ToJson(attempt.judgement()))},
          {"README.md", BestReadme(attempt, description.spec, recheck)}};
}

bool AllHold(const std::string& folder, const Files& files) {
  for (const auto& [name, text] : files) {
    if (!Holds(folder + "/" + name, text)) return false;
  }
  return true;
}

// Puts `fresh` in the place of `place`, and what was there in the place of `fresh`. At once where
// the file system can exchange names; else there is a moment without `place`.
Result<void> Exchange(const std::string& fresh, const std::string& place) {
  if (rename(fresh.c_str(), place.c_str()) == 0) return {};  // there was nothing, or it was empty
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) return {};
  const std::string old = fresh + ".old";
  std::error_code ignored;
  fs::remove_all(old, ignored);
  if (rename(place.c_str(), old.c_str()) == 0 && rename(fresh.c_str(), place.c_str()) == 0) {
    fs::remove_all(old, ignored);
    return {};
  }
  return Fail(ErrorCode::kEnvironment,
              "Cannot replace " + place + ": " + std::strerror(errno) + ".");
}

// What a killed writer leaves: "kernel.cu.tmp.<pid>.<n>", ".best-new".
void RemoveLeftovers(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder + "/.best-new", error);
  fs::remove_all(folder + "/.best-new.old", error);
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().find(".tmp.") != std::string::npos)
      found.push_back(it->path());
  }
  for (const fs::path& path : found) fs::remove(path, error);
}

}  // namespace

Result<void> WriteRunFile(const std::string& folder, const RunDescription& description) {
  const nlohmann::json json = {{"schema", 1},
                               {"cudaagent", description.version},
                               {"started", description.started},
                               {"arguments", description.arguments},
                               {"flags", description.flags},
                               {"problem", protocol::ToJson(description.spec)},
                               {"proposer", description.proposer}};
  return WriteFiles(folder, {{"run.json", Page(json)}});
}

Result<void> WriteAttemptFiles(const std::string& folder, const Attempt& attempt,
                               const Proposal* proposal) {
  return WriteFiles(fmt::format("{}/attempts/{:04}", folder, attempt.number),
                    AttemptFiles(attempt, proposal));
}

Result<void> WriteConfirmationFile(const std::string& folder, const Attempt& attempt) {
  if (!attempt.confirmation) return {};
  return WriteFiles(fmt::format("{}/attempts/{:04}", folder, attempt.number),
                    {{"confirmation.json", Page(protocol::ToJson(*attempt.confirmation))}});
}

Result<void> RemoveBestFiles(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder + "/best", error);
  if (!error) return {};
  return Fail(ErrorCode::kEnvironment,
              "Cannot remove " + folder + "/best: " + error.message() + ".");
}

Result<void> WriteBestFiles(const std::string& folder, const Attempt& attempt,
                            const RunDescription& description) {
  const std::string best = folder + "/best", fresh = folder + "/.best-new";
  const Files files = BestFiles(folder, attempt, description);
  if (AllHold(best, files)) return {};
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  auto written = WriteFiles(fresh, files);
  if (written) written = Exchange(fresh, best);
  fs::remove_all(fresh, ignored);
  return written;
}

Result<void> RepairFiles(const std::string& folder, const StoredRun& run) {
  RemoveLeftovers(folder);
  if (auto written = WriteRunFile(folder, run.description); !written) return written;
  for (const StoredAttempt& each : run.attempts) {
    const Proposal* proposal = each.proposal ? &*each.proposal : nullptr;
    if (auto written = WriteAttemptFiles(folder, each.attempt, proposal); !written) return written;
    if (auto written = WriteConfirmationFile(folder, each.attempt); !written) return written;
  }
  const StoredAttempt* best = run.best();
  return best == nullptr ? RemoveBestFiles(folder)
                         : WriteBestFiles(folder, best->attempt, run.description);
}

}  // namespace cudaagent::store
