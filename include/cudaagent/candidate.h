// A candidate: one .cu file with a launch plan in its leading comment (docs/candidate_format.md).
#pragma once

#include <string>

namespace cudaagent {

struct Candidate {
  std::string source;  // the whole file
  std::string origin;  // who wrote it: "init", "builtin", "llm:<model>", "command", a file's path
  std::string note;    // the proposer's one-line account of what it changed, may be empty
};

}  // namespace cudaagent
