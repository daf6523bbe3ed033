// A run on disk: plain files, readable without us.
//
//   run.json                   what was asked: arguments, problem, device, versions, start
//   attempts/0007/kernel.cu    the candidate as written        evaluation.json  how it fared
//                 build.log    the compiler's words            feedback.txt     what the proposer is told
//                 prompt.md, answer.md                         where a model or a program was asked
//   best/kernel.cu             the best kernel so far, with evaluation.json and a README.md that holds
//                              its figures and the command that re-checks it
//   summary.json               how the run ended
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "cudaagent/store.h"

namespace cudaagent::store {

struct RunDescription {
  ProblemSpec spec;
  std::vector<std::string> arguments;   // argv, for the record
  std::vector<std::string> recheck;     // "cudaagent eval" and every flag that names the problem
  std::string proposer;
  std::string version;                  // cudaagent's own
};

class RunFolder : public Store {
 public:
  // Makes `out`, or runs/<utc>-<model>-<hash6> below the working folder where `out` is empty, with
  // runs/latest pointing at it. A folder that already holds a run, or that another process writes,
  // is refused (kUsage). One writer; not thread-safe.
  static Result<std::unique_ptr<RunFolder>> Create(const std::string& out,
                                                   const RunDescription& description);
  ~RunFolder() override;

  std::string folder() const override { return folder_; }
  Result<void> SaveAttempt(const Attempt& attempt, const Proposal* proposal) override;
  Result<void> SaveBest(const Attempt& attempt) override;
  // `json` is one document; written once, when the run ends.
  Result<void> SaveSummary(const std::string& json);

 private:
  RunFolder(std::string folder, RunDescription description, int lock_fd);

  std::string folder_;
  RunDescription description_;
  int lock_fd_;
};

}  // namespace cudaagent::store
