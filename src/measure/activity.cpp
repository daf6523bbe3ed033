#include "measure/activity.h"

#include <algorithm>

namespace cudaagent::measure {

std::map<uint64_t, Footprint> Footprints(const ActivityLog& log,
                                         const std::set<std::string>& own_kernels) {
  struct Extent {
    uint64_t start = UINT64_MAX;
    uint64_t end = 0;
    bool bad = false;
  };
  std::map<uint64_t, Extent> extents;
  std::map<uint64_t, Footprint> footprints;
  for (const Activity& each : log.activities) {
    const auto iteration = log.iteration.find(each.correlation);
    if (iteration == log.iteration.end()) continue;
    Extent& extent = extents[iteration->second];
    Footprint& footprint = footprints[iteration->second];
    if (each.start == 0 || each.end == 0 || each.end < each.start) {
      extent.bad = true;
      continue;
    }
    extent.start = std::min(extent.start, each.start);
    extent.end = std::max(extent.end, each.end);
    if (each.kind == Activity::Kind::kGraph) continue;
    const auto duration = static_cast<double>(each.end - each.start);
    ++footprint.activities;
    footprint.busy_ns += duration;
    if (each.kind == Activity::Kind::kKernel && own_kernels.contains(each.name)) {
      footprint.own_busy_ns += duration;
    }
  }
  for (const auto& [iteration, extent] : extents) {
    Footprint& footprint = footprints[iteration];
    footprint.measured = !extent.bad && extent.end > extent.start;
    if (footprint.measured) footprint.span_ns = static_cast<double>(extent.end - extent.start);
  }
  return footprints;
}

}  // namespace cudaagent::measure
