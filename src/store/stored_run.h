// A run as it is stored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/problem.h"
#include "cudaagent/proposer.h"

namespace cudaagent::store {

// Option -> its values: {"--const": ["dim=64", "batch=2"]}.
using FlagValues = std::map<std::string, std::vector<std::string>>;

struct RunDescription {
  ProblemSpec spec;
  std::vector<std::string> arguments;  // argv, for the record
  FlagValues flags;                    // what a resumed run is started with
  std::vector<std::string> recheck;    // "cudaagent eval" and every flag that names the problem
  std::string proposer;
  std::string version;  // cudaagent's own
  std::string started;  // ISO 8601, UTC; set by the store
};

struct StoredAttempt {
  Attempt attempt;
  std::optional<Proposal> proposal;  // none for the baseline; its candidate is the attempt's
  bool new_best = false;
};

struct StoredRun {
  RunDescription description;
  std::vector<StoredAttempt> attempts;  // number = index
  std::string stopped;                  // why it ended; empty while it runs and after a kill
  bool finished = false;                // a limit was reached: resuming would add nothing
  double elapsed_s = 0;                 // over all sittings

  // The latest new best, or null.
  const StoredAttempt* best() const {
    const StoredAttempt* found = nullptr;
    for (const StoredAttempt& each : attempts) {
      if (each.new_best) found = &each;
    }
    return found;
  }
};

}  // namespace cudaagent::store
