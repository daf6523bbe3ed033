// What a clock saw of one contender, iteration by iteration.
#pragma once

#include <vector>

#include "measure/activity.h"

namespace cudaagent::measure {

struct Observations {
  std::vector<double> event_ns;
  std::vector<double> span_ns;        // CUPTI's, of iterations it measured
  std::vector<Footprint> footprints;  // of the same iterations
};

}  // namespace cudaagent::measure
