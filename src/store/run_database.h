// run.db: the truth about a run. Everything else in a run folder can be written from it.
#pragma once

#include <optional>
#include <string>

#include "cudaagent/result.h"
#include "store/sqlite.h"
#include "store/stored_run.h"

namespace cudaagent::store {

// What a list of runs shows, without reading every attempt.
struct RunGlance {
  std::string model;  // path of model.py
  std::string proposer;
  std::string started;
  std::string stopped;  // as StoredRun
  bool finished = false;
  int attempts = 0;
  std::optional<int> best;  // number of the best attempt
  std::optional<Evaluation> best_evaluation;
};

// Each writing method is one transaction: after a kill at any moment all of it is there, or
// nothing.
class RunDatabase {
 public:
  // Made where there is none, brought up to date where it is older.
  static Result<RunDatabase> OpenToWrite(const std::string& path);
  static Result<RunDatabase> OpenToRead(const std::string& path);

  // False: the process that made the file was killed before it began the run.
  Result<bool> HoldsRun();
  Result<void> Begin(const RunDescription& description);
  // The run goes on: with these flags, and no longer stopped.
  Result<void> Continue(const FlagValues& flags);
  Result<void> SaveAttempt(const Attempt& attempt, const Proposal* proposal, bool new_best);
  // A refuted attempt is no best any more; `best` (-1: none) is one from now on.
  Result<void> SaveConfirmation(const Attempt& attempt, int best);
  Result<void> End(const std::string& stopped, bool finished, double elapsed_s);

  Result<StoredRun> Read();
  Result<RunGlance> Glance();

 private:
  explicit RunDatabase(Database database) : database_(std::move(database)) {}
  Result<void> ReadDescription(StoredRun* run);
  Result<void> ReadAttempts(StoredRun* run);
  Error Damaged(const std::string& what) const;

  Database database_;
};

}  // namespace cudaagent::store
