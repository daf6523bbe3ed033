// One turn of the loop: who proposed what, and how it fared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudaagent/candidate.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/usage.h"

namespace cudaagent {

struct Attempt {
  int number = 0;   // 0 is the init baseline
  int parent = -1;  // the attempt this one was derived from, -1 = none
  Candidate candidate;
  Evaluation evaluation;
  std::string feedback;  // what the proposer is told about it
  // The same candidate judged once more before it is called best: in a worker that had run no
  // other, with new seeds, by turns with the deciding baseline itself.
  std::optional<Evaluation> confirmation;
  double elapsed_s = 0;  // since the run began, over all its sittings, when it was judged
  Usage usage;           // what asking for it cost; zero where no model was asked

  // The last word on it: the confirmation where there is one.
  const Evaluation& judgement() const { return confirmation ? *confirmation : evaluation; }
};

}  // namespace cudaagent
