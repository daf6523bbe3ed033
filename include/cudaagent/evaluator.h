// The seam between the loop and everything that compiles, checks and times.
#pragma once

#include "cudaagent/candidate.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent {

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // What is known of the problem. Valid as long as the evaluator lives.
  virtual const ProblemInfo& problem() const = 0;

  // Judges one candidate. A candidate's fault is an Evaluation; an Error means nothing can be
  // evaluated any more (the worker will not start, the device is gone). Blocks. One call at a time.
  virtual Result<Evaluation> Evaluate(const Candidate& candidate) = 0;

  // Begins to compile a candidate that Evaluate() will be given soon; waits for nothing. Calling it
  // or not changes how long Evaluate() takes, never what it says.
  virtual void CompileAhead(const Candidate&) {}

  // Judges a candidate that Evaluate() found correct once more, as it stands (nothing is tuned), in
  // a worker that has run no other candidate, with new seeds and, on a GPU, by turns with eager and
  // with the deciding baseline itself.
  virtual Result<Evaluation> Confirm(const Candidate& candidate) = 0;
};

}  // namespace cudaagent
