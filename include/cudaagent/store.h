// The seam between the loop and the run folder.
#pragma once

#include <string>

#include "cudaagent/attempt.h"
#include "cudaagent/proposer.h"
#include "cudaagent/result.h"

namespace cudaagent {

class Store {
 public:
  virtual ~Store() = default;
  // The folder all of this run's files lie in.
  virtual std::string folder() const = 0;
  // Durable before it returns: all of the attempt, or nothing. `proposal` is null for the baseline.
  // With `new_best`, best/ becomes this kernel, its evaluation and a README with its figures and
  // the re-check command.
  virtual Result<void> SaveAttempt(const Attempt& attempt, const Proposal* proposal,
                                   bool new_best) = 0;
  // Durable before it returns. `attempt` is a stored one that now has its confirmation; `best` is
  // what is best now, null where nothing is. best/ becomes that kernel, with the figures of its
  // judgement().
  virtual Result<void> SaveConfirmation(const Attempt& attempt, const Attempt* best) = 0;
};

}  // namespace cudaagent
