// A run on disk: the database, and beside it plain files that are readable without us.
//
//   run.db                     the truth: problem, flags, attempts, evaluations, prompts, answers,
//   usage run.json                   what was asked: arguments, problem, start
//   attempts/0007/kernel.cu    the candidate as written        evaluation.json  how it fared
//                 build.log    the compiler's words            feedback.txt     what the proposer
//                 is told prompt.md, answer.md                         where a model or a program
//                 was asked
//   best/kernel.cu             the best kernel so far, with evaluation.json and a README.md that
//   holds
//                              its figures and the command that re-checks it
//   summary.json               how the run ended
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "cudaagent/store.h"
#include "store/run_database.h"
#include "store/stored_run.h"
#include "util/fd.h"

namespace cudaagent::store {

// One writer, which the folder's lock ensures; not thread-safe.
class RunFolder : public Store {
 public:
  // Makes `out`, or runs/<utc>-<model>-<hash6> below the working folder where `out` is empty, with
  // runs/latest pointing at it once its first attempt is stored. A folder that already holds a run,
  // or that another process writes, is refused (kUsage).
  static Result<std::unique_ptr<RunFolder>> Create(const std::string& out,
                                                   RunDescription description);
  // Opens a run to go on with it, and repairs its files. Refused (kUsage) where another process
  // writes it or it never began.
  static Result<std::unique_ptr<RunFolder>> Resume(const std::string& folder);

  std::string folder() const override { return folder_; }
  const RunDescription& description() const { return description_; }
  // The run as it was when it was opened.
  const StoredRun& before() const { return before_; }

  // Marks a resumed run as going on, from now on with these flags.
  Result<void> Continue(const FlagValues& flags);
  Result<void> SaveAttempt(const Attempt& attempt, const Proposal* proposal,
                           bool new_best) override;
  Result<void> SaveConfirmation(const Attempt& attempt, const Attempt* best) override;
  // How it ended: `stopped` for people; `finished` as in StoredRun; `summary` is one JSON document.
  Result<void> End(const std::string& stopped, bool finished, double elapsed_s,
                   const std::string& summary);

 private:
  RunFolder(std::string folder, util::UniqueFd lock, RunDatabase database)
      : folder_(std::move(folder)), lock_(std::move(lock)), database_(std::move(database)) {}
  static Result<std::unique_ptr<RunFolder>> Open(const std::string& folder);

  std::string folder_;
  util::UniqueFd lock_;  // The file stays: removing it would race.
  RunDatabase database_;
  RunDescription description_;
  StoredRun before_;
  bool becomes_latest_ = false;  // once its first attempt is stored
};

// 20261130T154455Z: the date in the name of a folder below runs/.
std::string CompactNow();

// Whether a process writes the run. Takes no lock, so it disturbs nobody.
bool IsBeingWritten(const std::string& folder);

}  // namespace cudaagent::store
