// Which of the figures at hand is a contender's time. Pure.
#pragma once

#include <string>
#include <vector>

#include "measure/activity.h"
#include "measure/measure.h"
#include "measure/observations.h"

namespace cudaagent::measure {

// Did tracing stretch the iterations of a step-by-step contender? `untraced_ns`: its quickest
// iteration by events with tracing off. Events include the start of the first kernel: an iteration
// without tracing that is shorter than the traced span, while events under tracing are longer, can
// only be tracing's doing.
bool SlowedByTracing(double untraced_ns, const Observations& traced);

// `traced`: iterations under CUPTI. `plain`: iterations without it, empty where there were none.
// `steps`: a graph's work step by step under CUPTI, may be empty. `cupti_problem`: why CUPTI was
// not used, empty where it was. A graph's time is CUPTI's span. A step-by-step contender's is
// CUPTI's span or plain events, whose median is smaller: either only adds to the truth. Without
// CUPTI, events.
Samples Choose(bool graph, const Observations& traced, const Observations& plain,
               const Observations& steps, const std::string& cupti_problem);

}  // namespace cudaagent::measure
