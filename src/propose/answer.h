// An answer of a model or a program as a proposal. Private to this room.
#pragma once

#include <string>

#include "cudaagent/proposer.h"

namespace cudaagent::propose {

// The candidate is what candidate::ExtractCandidate finds, else the answer itself, so that the
// evaluator says what is wrong with it. `cut_off`: the answer ended at a limit; one that would pass
// as a whole file without a closed code block does not count as whole. The note is the answer's
// sentence before its code.
Proposal ToProposal(std::string answer, const std::string& origin, bool cut_off);

}  // namespace cudaagent::propose
