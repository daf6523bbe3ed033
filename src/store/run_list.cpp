#include "store/run_list.h"

#include <algorithm>
#include <filesystem>

#include "store/run_folder.h"
#include "util/text.h"

namespace cudaagent::store {
namespace {

namespace fs = std::filesystem;

bool HoldsRun(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "run.db", ignored);
}

// Names of the runs directly below `folder`, in order; runs/latest is a link to one of them.
std::vector<std::string> RunNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_symlink(error) && HoldsRun(it->path())) names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<RunGlance> Glance(const std::string& folder) {
  auto database = RunDatabase::OpenToRead(folder + "/run.db");
  if (!database) return tl::unexpected(database.error());
  return database->Glance();
}

}  // namespace

const char* ToString(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kFinished:
      return "finished";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kUnreadable:
      return "unreadable";
  }
  return "unreadable";
}

std::vector<RunEntry> ListRuns(const std::string& folder) {
  std::vector<RunEntry> entries;
  for (const std::string& name : RunNames(folder)) {
    RunEntry& entry = entries.emplace_back();
    entry.name = name;
    entry.folder = folder + "/" + name;
    auto glance = Glance(entry.folder);
    if (!glance) {
      entry.trouble = glance.error().message;
      continue;
    }
    entry.state = IsBeingWritten(entry.folder) ? RunState::kRunning
                  : glance->finished           ? RunState::kFinished
                                               : RunState::kInterrupted;
    entry.glance = std::move(*glance);
  }
  return entries;
}

Result<std::string> FindRun(const std::string& name) {
  const std::string runs = fs::absolute(kRunsFolder).lexically_normal().string();
  for (const fs::path& folder : {fs::path(name), fs::path(runs) / name}) {
    if (!name.empty() && HoldsRun(folder)) return fs::canonical(folder).string();
  }
  const std::string shown = util::SanitiseLog(name, 200);
  if (name == "latest") {
    return Fail(ErrorCode::kUsage,
                "There is no latest run: runs/latest below this folder leads to none (a run "
                "with --out is not counted). Name a run's folder.");
  }
  std::vector<std::string> matching;
  for (const std::string& each : RunNames(runs)) {
    if (!name.empty() && each.find(name) != std::string::npos) matching.push_back(each);
  }
  if (matching.size() == 1) return runs + "/" + matching.front();
  if (matching.empty()) {
    return Fail(ErrorCode::kUsage,
                "There is no run \"" + shown +
                    "\": it is neither a folder with a run.db nor part of a name in "
                    "runs/. \"cudaagent runs\" lists them.");
  }
  const size_t count = matching.size();
  if (count > 5) matching.resize(5);
  return Fail(ErrorCode::kUsage, "\"" + shown + "\" means " + std::to_string(count) +
                                     " runs in runs/: " + util::Join(matching, ", ") +
                                     (count > 5 ? ", ..." : "") + ". Give more of the name.");
}

Result<StoredRun> ReadRun(const std::string& folder) {
  auto database = RunDatabase::OpenToRead(folder + "/run.db");
  if (!database) return tl::unexpected(database.error());
  return database->Read();
}

}  // namespace cudaagent::store
