// The runs below a folder, and which of them a person means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "store/run_database.h"

namespace cudaagent::store {

inline constexpr const char* kRunsFolder = "runs";  // below the working folder

enum class RunState { kRunning, kFinished, kInterrupted, kUnreadable };
const char* ToString(RunState state);

struct RunEntry {
  std::string name;  // of its folder
  std::string folder;
  RunState state = RunState::kUnreadable;
  std::optional<RunGlance> glance;  // none where unreadable
  std::string trouble;              // why
};

// Every run directly below `folder`, oldest first. None where there is no such folder.
std::vector<RunEntry> ListRuns(const std::string& folder);

// The absolute folder of a run. `name` is a folder that holds one, a name below runs/, a part of
// exactly one such name, or "latest". Else kUsage.
Result<std::string> FindRun(const std::string& name);

// Reads a whole run, also one that is being written.
Result<StoredRun> ReadRun(const std::string& folder);

}  // namespace cudaagent::store
