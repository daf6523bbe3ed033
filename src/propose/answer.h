// An answer of a model or a program as a proposal. Private to this room.
#pragma once

#include <string>

#include "cudaagent/proposer.h"

namespace cudaagent::propose {

// Fills candidate and answer. The candidate is what candidate::ExtractCandidate finds, else the
// answer itself, so that the evaluator says what is wrong with it. The note is the answer's
// sentence before its code.
void FillFromAnswer(std::string answer, const std::string& origin, Proposal* proposal);

}  // namespace cudaagent::propose
