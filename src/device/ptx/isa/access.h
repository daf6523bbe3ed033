// From the addresses of a warp's lanes to host pointers: which space, in bounds, aligned, initialised,
// allowed; counted. Everything a load, store or atomic must ask before it touches memory.
#pragma once

#include "device/ptx/isa/lanes.h"

namespace cudaagent::device::ptx::PTX_ISA {

enum class Use : uint8_t { kRead, kWrite, kAtomic };

struct Access {
  enum Kind : uint8_t { kUniform, kConsecutive, kScattered };
  Kind kind = kScattered;
  uint8_t* host[kLanes];     // of active lanes; kUniform and kConsecutive: [0] is lane 0's
};

// False: Thread::fault was filled.
bool Resolve(Warp& w, const Instr& in, uint32_t m, uint32_t bytes, uint32_t element, Use use,
             Access& access);

}  // namespace cudaagent::device::ptx::PTX_ISA
