// What surrounds the buffers of a candidate on a GPU (--guard).
#pragma once

#include <string_view>

namespace cudaagent::device {

enum class Guard {
  kZones,   // bytes of a known pattern: writes are found afterwards
  kStrict,  // unmapped memory right past the end: reads and writes fault
};

// The option's value: "strict" or "zones".
inline Guard GuardNamed(std::string_view name) {
  return name == "strict" ? Guard::kStrict : Guard::kZones;
}

}  // namespace cudaagent::device
