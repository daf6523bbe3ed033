// The init baseline of a loaded problem.
#pragma once

#include "cudaagent/candidate.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::cli {

// kEnvironment where torch.export failed on the model, with its reason.
Result<Candidate> InitCandidate(const ProblemInfo& problem);

}  // namespace cudaagent::cli
