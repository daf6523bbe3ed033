#include "device/ptx/faults.h"

#include <algorithm>
#include <cstdio>

namespace cudaagent::device::ptx {
namespace {

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Plural(uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string Line(const LaunchState& launch, uint32_t pc) {
  uint32_t line = pc < launch.kernel->code.size() ? launch.kernel->code[pc].line : 0;
  return line == 0 ? "" : "line " + std::to_string(line);
}

std::string Thread(uint64_t thread, const LaunchState& launch) {
  uint64_t nx = launch.ntid[0], ny = launch.ntid[1];
  return Triple(thread % nx, thread / nx % ny, thread / (nx * ny));
}

std::string OtherLine(const LaunchState& launch, uint32_t pc) {
  std::string line = Line(launch, pc);
  return line.empty() ? "" : " (" + line + ")";
}

std::string Where(const FaultState& f, const LaunchState& launch) {
  std::string line = Line(launch, f.pc);
  uint64_t gx = launch.grid[0], gy = launch.grid[1];
  return "kernel " + launch.kernel->shown + (line.empty() ? "" : " (" + line + ")") + ", block " +
         Triple(f.block % gx, f.block / gx % gy, f.block / (gx * gy)) + " thread " +
         Thread(uint64_t{f.warp} * kLanes + f.lane, launch) + ": ";
}

std::string Doing(const FaultState& f) {
  return std::string(f.atomic  ? "updates "
                     : f.write ? "writes "
                               : "reads ") +
         Plural(f.bytes, "byte");
}

// "x[12]" or, where the address is no multiple of the element, "byte 49 of x".
std::string Spot(const std::string& name, int64_t offset, uint32_t element) {
  int64_t size = std::max<uint32_t>(element, 1);
  if (offset % size == 0) return name + "[" + std::to_string(offset / size) + "]";
  return "byte " + std::to_string(offset) + " of " + name;
}

std::string Size(uint64_t bytes, uint32_t element) {
  uint32_t size = std::max<uint32_t>(element, 1);
  if (bytes % size != 0 || size == 1) return Plural(bytes, "byte");
  return Plural(bytes / size, "element") + " of " + Plural(size, "byte");
}

// The sentence's end for an access that is not inside [begin, end).
std::string Outside(const FaultState& f, const std::string& name, uint64_t begin, uint64_t end,
                    uint64_t at) {
  int64_t offset = static_cast<int64_t>(at - begin);
  std::string text = " at " + Spot(name, offset, f.element) + ", ";
  if (at < begin) {
    text += Plural(begin - at, "byte") + " before the start of " + name;
  } else if (at >= end) {
    text += Plural(at - end, "byte") + " past the end of " + name;
  } else {
    text += "the last " + std::to_string(at + f.bytes - end) + " of them past the end of " + name;
  }
  return text + " (" + Size(end - begin, f.element) + ")";
}

const Allocation* Nearest(const LaunchState& launch, uint64_t address, uint64_t* distance) {
  const Allocation* nearest = nullptr;
  *distance = ~uint64_t{0};
  for (size_t i = 0; i < launch.table_size; ++i) {
    const Allocation& a = launch.table[i];
    uint64_t d = address < a.begin ? a.begin - address : address >= a.end ? address - a.end : 0;
    // At equal distance the buffer that ends there: overruns are the commoner mistake.
    if (d < *distance) {
      *distance = d;
      nearest = &a;
    }
  }
  return nearest;
}

Fault Bounds(const FaultState& f, const LaunchState& launch) {
  std::string start = Where(f, launch) + Doing(f);
  if (f.address < 65536) {
    return {Verdict::kOutOfBounds, start + " at address " + Hex(f.address) + ", a null pointer"};
  }
  uint64_t distance;
  const Allocation* nearest = Nearest(launch, f.address, &distance);
  if (nearest == nullptr || distance > (uint64_t{1} << 32)) {
    return {Verdict::kOutOfBounds,
            start + " at address " + Hex(f.address) + ", which lies in no buffer"};
  }
  return {Verdict::kOutOfBounds,
          start + Outside(f, nearest->name, nearest->begin, nearest->end, f.address)};
}

// A shared variable's name and bounds around or before an address.
struct SharedSpot {
  std::string name;
  uint64_t begin = 0, end = 0;
};
SharedSpot SharedAt(const LaunchState& launch, uint64_t at) {
  const Kernel& kernel = *launch.kernel;
  SharedSpot spot{"shared memory", 0, launch.shared_bytes};
  if (launch.dynamic_shared != 0) {
    std::string name = kernel.dynamic_name.empty() ? "dynamic shared memory" : kernel.dynamic_name;
    if (at >= kernel.dynamic_at) return {name, kernel.dynamic_at, launch.shared_bytes};
  }
  for (const SharedVariable& variable : kernel.shared) {
    if (at >= variable.begin) spot = {ShownVariable(variable.name), variable.begin, variable.end};
  }
  return spot;
}

Fault InSpace(const FaultState& f, const LaunchState& launch, const char* space, uint64_t limit) {
  std::string text = Where(f, launch) + Doing(f);
  if (f.address >= (uint64_t{1} << 40)) {
    text += std::string(" of ") + space + " at " + Hex(f.address) + ", far outside it";
  } else {
    text += std::string(" of ") + space + " at byte " + std::to_string(f.address) + ", " +
            (f.address >= limit ? Plural(f.address - limit, "byte") + " past its end"
                                : "the last " + std::to_string(f.address + f.bytes - limit) +
                                      " of them past its end") +
            " (" + Plural(limit, "byte") + ")";
  }
  return {Verdict::kOutOfBounds, text};
}

Fault SharedBounds(const FaultState& f, const LaunchState& launch) {
  if (f.address >= (uint64_t{1} << 31))
    return InSpace(f, launch, "shared memory", launch.shared_bytes);
  SharedSpot spot = SharedAt(launch, f.address);
  std::string text = Where(f, launch) + Doing(f) + " of shared memory";
  if (spot.end == 0) return {Verdict::kOutOfBounds, text + ", but the launch gives it none"};
  return {Verdict::kOutOfBounds, text + Outside(f, spot.name, spot.begin, spot.end, f.address)};
}

Fault Misaligned(const FaultState& f, const LaunchState& launch) {
  std::string text = Where(f, launch) + Doing(f);
  uint64_t window = f.address & kWindowMask, at = f.address & ~kWindowMask;
  if (window == kSharedWindow) {
    SharedSpot spot = SharedAt(launch, at);
    text += " of shared memory at byte " + std::to_string(at - spot.begin) + " of " + spot.name;
  } else if (window == kLocalWindow) {
    text += " of local memory at byte " + std::to_string(at);
  } else {
    uint64_t distance;
    const Allocation* a = Nearest(launch, f.address, &distance);
    if (a != nullptr && distance == 0) {
      text += " at byte " + std::to_string(f.address - a->begin) + " of " + a->name;
    } else {
      text += " at address " + Hex(f.address);
    }
  }
  return {Verdict::kDeviceFault, text + ", which is not a multiple of " + std::to_string(f.bytes)};
}

std::string Inside(const FaultState& f, const LaunchState& launch, std::string* name) {
  uint64_t distance;
  const Allocation* a = Nearest(launch, f.address, &distance);
  *name = a == nullptr ? "a buffer" : a->name;
  return Spot(*name, a == nullptr ? 0 : static_cast<int64_t>(f.address - a->begin), f.element);
}

}  // namespace

std::string Triple(uint64_t x, uint64_t y, uint64_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

// "_ZZ2k1E3cnt" -> "cnt": the last name of a mangled local variable; other names stay.
std::string ShownVariable(const std::string& name) {
  if (name.rfind("_ZZ", 0) != 0) return name;
  size_t at = name.rfind('E');
  while (at != std::string::npos && at > 0) {
    size_t digits = at + 1, length = 0;
    while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9' && length < 100000) {
      length = length * 10 + static_cast<size_t>(name[digits++] - '0');
    }
    if (length > 0 && digits + length <= name.size()) return name.substr(digits, length);
    at = name.rfind('E', at - 1);
  }
  return name;
}

std::string WhoWaits(const BlockState& block, const LaunchState& launch) {
  std::string text;
  int shown = 0, groups = 0;
  for (uint32_t n = 0; n < block.n_warps; ++n) {
    const Warp& warp = block.warps[n];
    for (int i = 0; i < warp.n_parked; ++i) {
      const Parked& parked = warp.parked[i];
      ++groups;
      if (shown == 4) continue;
      ++shown;
      std::string line = Line(launch, parked.pc);
      text += (text.empty() ? "" : "; ") + std::string("warp ") + std::to_string(warp.index) +
              " lanes " + Hex(parked.mask) + (line.empty() ? "" : " at " + line);
      if (parked.wait == Wait::kBarrier) {
        const Barrier& barrier = block.barriers[parked.barrier];
        uint32_t expected = barrier.expected != 0 ? barrier.expected : block.live_threads;
        text += " in barrier " + std::to_string(parked.barrier) + " (" +
                std::to_string(barrier.arrived) + " of " + std::to_string(expected) +
                " threads arrived)";
      } else {
        text += " for lanes " + Hex(parked.need & warp.alive & ~parked.mask);
      }
    }
  }
  if (groups > shown) text += "; and " + std::to_string(groups - shown) + " more";
  return text;
}

Fault Describe(const FaultState& f, const LaunchState& launch) {
  std::string name;
  switch (f.kind) {
    case FaultKind::kBounds:
      return Bounds(f, launch);
    case FaultKind::kReadOnly: {
      std::string spot = Inside(f, launch, &name);
      return {Verdict::kInputMutated,
              Where(f, launch) + Doing(f) + " at " + spot + ", but " + name + " is read-only"};
    }
    case FaultKind::kMisaligned:
      return Misaligned(f, launch);
    case FaultKind::kUninitialised: {
      std::string spot = Inside(f, launch, &name);
      return {Verdict::kDeviceFault,
              Where(f, launch) + Doing(f) + " at " + spot + ", which nothing has written yet"};
    }
    case FaultKind::kSharedBounds:
      return SharedBounds(f, launch);
    case FaultKind::kSharedUninitialised: {
      SharedSpot spot = SharedAt(launch, f.address);
      return {Verdict::kDeviceFault,
              Where(f, launch) + "reads uninitialised shared memory: " + Plural(f.bytes, "byte") +
                  " at " +
                  Spot(spot.name, static_cast<int64_t>(f.address - spot.begin), f.element) +
                  ", which nothing has written in this block"};
    }
    case FaultKind::kLocalBounds:
      return InSpace(f, launch, "the thread's local memory", launch.kernel->local_total);
    case FaultKind::kParamBounds:
      return InSpace(f, launch, "the kernel's parameters", launch.param_bytes);
    case FaultKind::kTrap:
      return {Verdict::kDeviceFault, Where(f, launch) + "executes trap"};
    case FaultKind::kAssert:
      return {Verdict::kDeviceFault,
              Where(f, launch) + "assertion '" + std::string(f.text) + "' fails"};
    case FaultKind::kDeadlock:
      return {Verdict::kDeviceFault,
              "kernel " + launch.kernel->shown + ", block " +
                  Triple(f.block % launch.grid[0], f.block / launch.grid[0] % launch.grid[1],
                         f.block / (uint64_t{launch.grid[0]} * launch.grid[1])) +
                  ": no thread can go on: " + std::string(f.text)};
    case FaultKind::kBudget:
      return {Verdict::kTimedOut,
              "kernel " + launch.kernel->shown + " had not ended after its budget of " +
                  std::to_string(launch.budget) + " thread instructions" + std::string(f.text)};
    case FaultKind::kBarrierId:
      return {Verdict::kDeviceFault, Where(f, launch) + "names barrier " +
                                         std::to_string(f.address) + ", but there are only 16"};
    case FaultKind::kSync:
      return {Verdict::kDeviceFault,
              Where(f, launch) + "executes a warp-wide instruction whose mask " + Hex(f.address) +
                  " leaves out the thread's own lane " + std::to_string(f.lane)};
    case FaultKind::kPartialWarp:
      return {Verdict::kDeviceFault, Where(f, launch) +
                                         "executes a matrix instruction with the lanes " +
                                         Hex(f.address) + " of its warp, but it needs all 32"};
    case FaultKind::kInFlight: {
      SharedSpot spot = SharedAt(launch, f.address);
      return {Verdict::kDeviceFault,
              Where(f, launch) + Doing(f) + " of shared memory at " +
                  Spot(spot.name, static_cast<int64_t>(f.address - spot.begin), f.element) +
                  ", to which a cp.async of thread " + Thread(f.other_thread, launch) +
                  OtherLine(launch, f.other_pc) + " is in flight: nothing has waited for it"};
    }
    case FaultKind::kRace: {
      SharedSpot spot = SharedAt(launch, f.address);
      return {Verdict::kDeviceFault,
              Where(f, launch) + Doing(f) + " of shared memory at " +
                  Spot(spot.name, static_cast<int64_t>(f.address - spot.begin), f.element) +
                  ", which thread " + Thread(f.other_thread, launch) +
                  OtherLine(launch, f.other_pc) + (f.other_writes ? " writes" : " reads") +
                  " with no barrier in between: a race"};
    }
    case FaultKind::kDivergentBarrier:
      return {Verdict::kDeviceFault,
              Where(f, launch) + "waits at a barrier here while thread " +
                  Thread(f.other_thread, launch) + " waits at " + Line(launch, f.other_pc) +
                  ": a barrier that not all threads reach at the same place is undefined"};
    case FaultKind::kNotFetched:
      return {Verdict::kInfraError,
              Where(f, launch) + Doing(f) + " that could not be copied from the GPU"};
    case FaultKind::kNone:
      break;
  }
  return {Verdict::kInfraError, Where(f, launch) + "stopped without a fault"};
}

}  // namespace cudaagent::device::ptx
