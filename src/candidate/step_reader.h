// Steps of a plan from JSON. Private to this room.
#pragma once

#include <vector>

#include "candidate/plan.h"
#include "candidate/reader.h"

namespace cudaagent::candidate {

// A list of steps; `where` of each is its place ("steps[3]", "prepare[0]", "steps[3].steps[1]").
// Throws Refusal.
std::vector<Step> ReadSteps(const Node& list, int depth = 0);

}  // namespace cudaagent::candidate
