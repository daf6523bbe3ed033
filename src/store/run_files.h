// The files of a run folder that people and tools read. All are written from what run.db holds.
#pragma once

#include <string>

#include "cudaagent/attempt.h"
#include "cudaagent/proposer.h"
#include "cudaagent/result.h"
#include "store/stored_run.h"

namespace cudaagent::store {

// Each replaces what was there in one step; a file that is already right is not touched.
Result<void> WriteRunFile(const std::string& folder, const RunDescription& description);
Result<void> WriteAttemptFiles(const std::string& folder, const Attempt& attempt,
                               const Proposal* proposal);
// best/ changes as a whole: its three files always belong together.
Result<void> WriteBestFiles(const std::string& folder, const Attempt& attempt,
                            const RunDescription& description);

// Beside the attempt's files; nothing where it has no confirmation.
Result<void> WriteConfirmationFile(const std::string& folder, const Attempt& attempt);
// For a run whose best was refuted and that has no other.
Result<void> RemoveBestFiles(const std::string& folder);

// After a kill: removes what was half written, writes what is missing or not right.
Result<void> RepairFiles(const std::string& folder, const StoredRun& run);

}  // namespace cudaagent::store
