// What surrounds the buffers of a candidate on a GPU (--guard).
#pragma once

namespace cudaagent::device {

enum class Guard {
  kZones,   // bytes of a known pattern: writes are found afterwards
  kStrict,  // unmapped memory right past the end: reads and writes fault
};

}  // namespace cudaagent::device
