// The seam between the loop and whoever writes candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/candidate.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "cudaagent/usage.h"

namespace cudaagent {

// All a proposer may look at. References are valid during the call only.
struct ProposalContext {
  const ProblemSpec& spec;
  const ProblemInfo& problem;
  const std::vector<Attempt>& history;  // oldest first; history[0] is the init baseline
  const Attempt* best = nullptr;        // best correct attempt so far
  DeviceStamp device;
  std::optional<int64_t> tokens_left;  // of the run's budget; nullopt = unlimited
};

struct Proposal : Usage {
  Candidate candidate;
  std::string prompt;         // what was asked, for the record; empty for the built-in proposer
  std::string answer;         // the raw answer, for the record
  std::string reasoning;      // what the model thought, where it tells; never part of the answer
  std::string finish_reason;  // "stop", "length", "refusal", ...; empty where no model was asked
  std::string prompt_hash;    // SHA-256 of the templates that the prompt was made from
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string name() const = 0;
  // std::nullopt: nothing more to propose (the built-in rules are exhausted), or nothing that the
  // token budget has room for. An answer without a usable candidate is still a Proposal: the
  // evaluator turns it into bad_candidate, which is feedback.
  virtual Result<std::optional<Proposal>> Propose(const ProposalContext& context) = 0;
};

}  // namespace cudaagent
