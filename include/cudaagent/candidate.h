// A candidate: one .cu file with a launch plan in its leading comment (docs/candidate_format.md).
#pragma once

#include <optional>
#include <string>

#include "cudaagent/fault.h"

namespace cudaagent {

struct Candidate {
  std::string source;  // the whole file
  std::string origin;  // who wrote it: "init", "builtin", "llm:<model>", "command", a file's path
  std::string note;    // the proposer's one-line account of what it changed, may be empty
  // Set where there is nothing to judge and the proposer knows why (a refusal, an answer that was
  // cut off); the source is then the answer itself. The evaluation gives it back.
  std::optional<Fault> fault{};
};

}  // namespace cudaagent
