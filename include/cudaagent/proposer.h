// The seam between the loop and whoever writes candidates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/candidate.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent {

// All a proposer may look at. References are valid during the call only.
struct ProposalContext {
  const ProblemSpec& spec;
  const ProblemInfo& problem;
  const std::vector<Attempt>& history;  // oldest first; history[0] is the init baseline
  const Attempt* best = nullptr;        // best correct attempt so far
  DeviceStamp device;
};

struct Proposal {
  Candidate candidate;
  std::string prompt;  // what was asked, for the record; empty for the built-in proposer
  std::string answer;  // the raw answer, for the record
  bool cut_off = false;  // the answer ended at a limit
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  // std::nullopt: nothing more to propose (the built-in rules are exhausted). An answer without a
  // usable candidate is still a Proposal: the evaluator turns it into bad_candidate, which is feedback.
  virtual Result<std::optional<Proposal>> Propose(const ProposalContext& context) = 0;
};

}  // namespace cudaagent
