// One turn of the loop: who proposed what, and how it fared.
#pragma once

#include <string>
#include <vector>

#include "cudaagent/candidate.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/usage.h"

namespace cudaagent {

struct Attempt {
  int number = 0;             // 0 is the init baseline
  int parent = -1;            // the attempt this one was derived from, -1 = none
  Candidate candidate;
  Evaluation evaluation;
  std::string feedback;       // what the proposer is told about it
  bool confirmed_best = false;
  double elapsed_s = 0;       // since the run began, over all its sittings, when it was judged
  Usage usage;  // what asking for it cost; zero where no model was asked
};

}  // namespace cudaagent
