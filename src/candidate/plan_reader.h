// A plan from its JSON. Private to this room.
#pragma once

#include "candidate/plan.h"
#include "candidate/reader.h"

namespace cudaagent::candidate {

// Throws Refusal.
Plan ReadPlan(const Json& json);

}  // namespace cudaagent::candidate
