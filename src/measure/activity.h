// What happened on the device, as CUPTI tells it, sorted by the iteration it belongs to. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cudaagent::measure {

// A kernel, copy or fill, or a whole graph launch. Times in device nanoseconds.
struct Activity {
  enum class Kind { kKernel, kCopy, kFill, kGraph };
  Kind kind = Kind::kKernel;
  uint32_t correlation = 0;  // of the API call that caused it
  uint64_t start = 0;
  uint64_t end = 0;
  std::string name;  // mangled, kernels only
};

// Records of some time: `iteration` maps an API call's correlation to the iteration it was made in.
struct ActivityLog {
  std::vector<Activity> activities;
  std::map<uint32_t, uint64_t> iteration;
};

// One iteration seen from the device.
struct Footprint {
  bool measured = false;   // every record has sensible times, and there is one at least
  double span_ns = 0;      // first start to last end
  double busy_ns = 0;      // sum of durations of single activities, graphs aside
  double own_busy_ns = 0;  // of kernels named in `own_kernels`
  int activities = 0;      // single activities
};

// By iteration. An activity with a zero or reversed time makes its iteration not measured; one that
// belongs to no iteration (a cache flush) is ignored.
std::map<uint64_t, Footprint> Footprints(const ActivityLog& log,
                                         const std::set<std::string>& own_kernels);

}  // namespace cudaagent::measure
