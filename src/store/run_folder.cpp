#include "store/run_folder.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "protocol/evaluation_json.h"
#include "store/best_readme.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::store {
namespace {

namespace fs = std::filesystem;

// 20261130T154455Z: the date of a folder's name.
std::string CompactNow() {
  std::string now = util::NowIso8601();
  now.erase(std::remove_if(now.begin(), now.end(), [](char c) { return c == '-' || c == ':'; }),
            now.end());
  return now;
}

std::string Slug(const std::string& path) {
  std::string slug = fs::path(path).stem().string().substr(0, 40);
  for (char& c : slug) {
    if (!isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '-';
  }
  return slug.empty() ? "model" : slug;
}

std::string FreshFolder(const RunDescription& description) {
  const std::string identity = description.spec.source + CompactNow() + std::to_string(getpid());
  return fmt::format("runs/{}-{}-{}", CompactNow(), Slug(description.spec.path),
                     util::Sha256Hex(identity).substr(0, 6));
}

// runs/latest -> the newest run. A convenience: failing to make it fails nothing.
void PointLatestAt(const std::string& folder) {
  std::error_code ignored;
  const fs::path link = fs::path(folder).parent_path() / "latest";
  if (fs::exists(link, ignored) && !fs::is_symlink(link, ignored)) return;
  const fs::path fresh = fs::path(folder).parent_path() / fmt::format(".latest-{}", getpid());
  fs::create_directory_symlink(fs::path(folder).filename(), fresh, ignored);
  if (!ignored) fs::rename(fresh, link, ignored);
}

Result<int> Lock(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Fail(ErrorCode::kEnvironment,
                fmt::format("Could not create {}: {}.", path, strerror(errno)));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return Fail(ErrorCode::kUsage,
                fmt::format("Another cudaagent writes the run in {}. Wait for it, or name another folder "
                            "with --out.", folder));
  }
  return fd;
}

nlohmann::json RunJson(const RunDescription& description) {
  return {{"schema", 1},
          {"cudaagent", description.version},
          {"started", util::NowIso8601()},
          {"arguments", description.arguments},
          {"problem", protocol::ToJson(description.spec)},
          {"proposer", description.proposer}};
}

}  // namespace

Result<std::unique_ptr<RunFolder>> RunFolder::Create(const std::string& out,
                                                     const RunDescription& description) {
  const std::string folder = fs::absolute(out.empty() ? FreshFolder(description) : out)
                                 .lexically_normal().string();
  if (auto made = util::MakeDirs(folder + "/attempts"); !made) return tl::unexpected(made.error());
  auto lock = Lock(folder);
  if (!lock) return tl::unexpected(lock.error());
  std::unique_ptr<RunFolder> run(new RunFolder(folder, description, *lock));
  if (fs::exists(folder + "/run.json")) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} already holds a run, and this version cannot resume one. Name another "
                            "folder with --out, or remove this one.", folder));
  }
  auto written = util::WriteFileAtomic(folder + "/run.json", protocol::ToText(RunJson(description)) + "\n");
  if (!written) return tl::unexpected(written.error());
  if (out.empty()) PointLatestAt(folder);
  return run;
}

RunFolder::RunFolder(std::string folder, RunDescription description, int lock_fd)
    : folder_(std::move(folder)), description_(std::move(description)), lock_fd_(lock_fd) {}

RunFolder::~RunFolder() { close(lock_fd_); }  // The lock file stays: removing it would race.

Result<void> RunFolder::SaveAttempt(const Attempt& attempt, const Proposal* proposal) {
  const std::string folder = fmt::format("{}/attempts/{:04}", folder_, attempt.number);
  if (auto made = util::MakeDirs(folder); !made) return made;
  nlohmann::json json = protocol::ToJson(attempt.evaluation);
  json["attempt"] = attempt.number;
  json["parent"] = attempt.parent;
  json["origin"] = attempt.candidate.origin;
  json["note"] = attempt.candidate.note;
  std::vector<std::pair<std::string, std::string>> files = {
      {"kernel.cu", attempt.candidate.source},
      {"build.log", attempt.evaluation.compile.log},
      {"feedback.txt", attempt.feedback}};
  if (proposal != nullptr && !proposal->prompt.empty()) files.emplace_back("prompt.md", proposal->prompt);
  if (proposal != nullptr && !proposal->answer.empty()) files.emplace_back("answer.md", proposal->answer);
  if (proposal != nullptr && !proposal->reasoning.empty())
    files.emplace_back("reasoning.md", proposal->reasoning);
  if (proposal != nullptr && !proposal->finish_reason.empty())
    json["finish_reason"] = proposal->finish_reason;
  if (proposal != nullptr && !proposal->prompt_hash.empty())
    json["prompt_hash"] = proposal->prompt_hash;
  if (proposal != nullptr && proposal->total_tokens() > 0) {
    json["usage"] = protocol::ToJson(static_cast<const Usage&>(*proposal));
  }
  // Last, so that a folder with an evaluation is whole.
  files.emplace_back("evaluation.json",
                     protocol::ToText(json) + "\n");
  for (const auto& [name, text] : files) {
    if (auto written = util::WriteFileAtomic(folder + "/" + name, text); !written) return written;
  }
  return {};
}

Result<void> RunFolder::SaveBest(const Attempt& attempt) {
  const std::string folder = folder_ + "/best";
  if (auto made = util::MakeDirs(folder); !made) return made;
  std::vector<std::string> recheck = description_.recheck;
  recheck.push_back(folder + "/kernel.cu");
  const std::string json = protocol::ToText(protocol::ToJson(attempt.evaluation));
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"kernel.cu", attempt.candidate.source},
           {"evaluation.json", json + "\n"},
           {"README.md", BestReadme(attempt, description_.spec, recheck)}}) {
    if (auto written = util::WriteFileAtomic(folder + "/" + name, text); !written) return written;
  }
  return {};
}

Result<void> RunFolder::SaveSummary(const std::string& json) {
  return util::WriteFileAtomic(folder_ + "/summary.json", json);
}

}  // namespace cudaagent::store
