#include "device/ptx/isa/access.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

bool Fault(Warp& w, FaultKind kind, int lane, uint64_t address, uint32_t bytes, uint32_t element,
           Use use) {
  FaultState& f = w.thread->fault;
  f.kind = kind;
  f.lane = static_cast<uint32_t>(lane);
  f.warp = w.index;
  f.block = w.block->index;
  f.pc = w.pc;
  f.address = address;
  f.bytes = bytes;
  f.element = element;
  f.write = use != Use::kRead;
  f.atomic = use == Use::kAtomic;
  return false;
}

// A vector access may take in padding nobody wrote: it counts as read where any byte is written.
bool Initialised(const uint8_t* written, uint32_t bytes, uint32_t element) {
  if (AllWritten(written, bytes)) return true;
  if (bytes == element) return false;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (written[i] != 0) return true;
  }
  return false;
}

// Checks one lane (or a run of lanes) of global memory. Null with the fault filled.
bool CheckGlobal(Warp& w, const Allocation* a, int lane, uint64_t address, uint32_t bytes,
                 uint32_t element, Use use) {
  if (a == nullptr) {
    FaultKind kind = w.thread->not_fetched ? FaultKind::kNotFetched : FaultKind::kBounds;
    return Fault(w, kind, lane, address, bytes, element, use);
  }
  if (use != Use::kRead && !a->writable) {
    return Fault(w, FaultKind::kReadOnly, lane, address, bytes, element, use);
  }
  if (a->written != nullptr) {
    uint8_t* written = a->written + (address - a->begin);
    if (use != Use::kWrite && !Initialised(written, bytes, element)) {
      return Fault(w, FaultKind::kUninitialised, lane, address, bytes, element, use);
    }
    if (use != Use::kRead) std::memset(written, 1, bytes);
  }
  return true;
}

bool Global(Warp& w, const uint64_t* address, uint32_t m, uint32_t bytes, uint32_t element, Use use,
            Access& access) {
  ThreadState& t = *w.thread;
  Counters& c = t.counters;
  uint32_t lanes = static_cast<uint32_t>(__builtin_popcount(m));
  ++c.requests;
  c.bytes += lanes * bytes;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint64_t at = address[l];
    if ((at & (bytes - 1)) != 0)
      return Fault(w, FaultKind::kMisaligned, l, at, bytes, element, use);
    const Allocation* a = t.last;
    if (a == nullptr || at < a->begin || at + bytes > a->end) a = FindAllocation(t, at, bytes);
    if (!CheckGlobal(w, a, l, at, bytes, element, use)) return false;
    access.host[l] = reinterpret_cast<uint8_t*>(at + a->shift);
  }
  c.sectors += CountSectors(address, bytes, m);
  return true;
}

// False: a race.
inline bool Raced(Warp& w, int lane, uint32_t at, uint32_t bytes, Use use, const Access& access) {
  RaceState* race = w.block->race;
  if (race == nullptr) return true;
  uint32_t l = static_cast<uint32_t>(lane);
  if (use == Use::kRead) return LaneRead(*race, w, l, at, bytes, access.strong);
  if (use == Use::kAtomic) return LaneAtomic(*race, w, l, at, bytes, access.releases);
  return true;
}

bool Shared(Warp& w, const uint64_t* wide, uint32_t m, uint32_t bytes, uint32_t element, Use use,
            Access& access) {
  Counters& c = w.thread->counters;
  BlockState& b = *w.block;
  uint32_t limit = w.thread->launch->shared_bytes;
  ++c.shared_requests;
  uint32_t address[kLanes];
  access.shared = m;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint64_t at = wide[l];
    if ((at & (bytes - 1)) != 0)
      return Fault(w, FaultKind::kMisaligned, l, at + kSharedWindow, bytes, element, use);
    if (at > limit || bytes > limit - at) {
      return Fault(w, FaultKind::kSharedBounds, l, at, bytes, element, use);
    }
    uint8_t* written = b.shared_written + at;
    access.host[l] = b.shared + at;
    address[l] = static_cast<uint32_t>(at);
    if (b.shared_unwritten == 0 && !Raced(w, l, address[l], bytes, use, access)) return false;
    if (b.shared_unwritten == 0) continue;
    if (b.in_flight != 0) {
      for (uint32_t i = 0; i < bytes; ++i) {
        if (written[i] != 2) continue;
        NameCopy(b, static_cast<uint32_t>(at) + i, w.thread->fault);
        return Fault(w, FaultKind::kInFlight, l, at, bytes, element, use);
      }
    }
    if ((use == Use::kRead || use == Use::kAtomic) && !Initialised(written, bytes, element)) {
      return Fault(w, FaultKind::kSharedUninitialised, l, at, bytes, element, use);
    }
    if (!Raced(w, l, address[l], bytes, use, access)) return false;
    if (use == Use::kAsync) continue;
    if (use != Use::kRead) MarkShared(b, written, bytes);
  }
  c.wavefronts += CountWavefronts(address, bytes, m);
  return true;
}

}  // namespace

void LaneAddresses(Warp& w, const Instr& in, uint64_t* address) {
  uint64_t offset = static_cast<uint64_t>(in.imm);
  if (in.wide_address) {
    const uint64_t* a = At<uint64_t>(w, in.op[4]);
    for (int l = 0; l < kLanes; ++l) address[l] = a[l] + offset;
  } else {
    const uint32_t* a = At<uint32_t>(w, in.op[4]);
    for (int l = 0; l < kLanes; ++l)
      address[l] = static_cast<uint32_t>(a[l] + static_cast<uint32_t>(offset));
  }
}

bool ResolveLanes(Warp& w, const Instr& in, uint32_t m, uint32_t bytes, uint32_t element, Use use,
                  Access& access) {
  if (in.hot) w.quantum -= kHotCost;
  access.strong = in.hot;
  access.releases = use == Use::kAtomic && in.aux != 0;
  alignas(64) uint64_t address[kLanes];
  LaneAddresses(w, in, address);
  return ResolveAddresses(w, in.place, address, m, bytes, element, use, access);
}

// Local memory is one run of bytes per lane.
bool ResolveAddresses(Warp& w, Place place, uint64_t* address, uint32_t m, uint32_t bytes,
                      uint32_t element, Use use, Access& access) {
  access.kind = Access::kScattered;
  access.shared = 0;
  if (place == Place::kGlobal || place == Place::kConst) {
    return Global(w, address, m, bytes, element, use, access);
  }
  if (place == Place::kShared) return Shared(w, address, m, bytes, element, use, access);

  // Generic, local and param: sort the lanes by window.
  uint32_t global = 0, shared = 0;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint64_t window = place == Place::kLocal   ? kLocalWindow
                      : place == Place::kParam ? kParamWindow
                                               : address[l] & kWindowMask;
    if (place == Place::kGeneric && window != 0) address[l] &= ~kWindowMask;
    uint64_t at = address[l];
    if (window == kSharedWindow) {
      shared |= 1u << l;
    } else if (window == kLocalWindow) {
      uint64_t limit = w.thread->launch->kernel->local_total;
      if ((at & (bytes - 1)) != 0)
        return Fault(w, FaultKind::kMisaligned, l, at + kLocalWindow, bytes, element, use);
      if (at > limit || bytes > limit - at)
        return Fault(w, FaultKind::kLocalBounds, l, at, bytes, element, use);
      access.host[l] = w.local + static_cast<uint64_t>(l) * limit + at;
    } else if (window == kParamWindow) {
      uint64_t limit = w.thread->launch->param_bytes;
      if (use != Use::kRead || at > limit || bytes > limit - at) {
        return Fault(w, FaultKind::kParamBounds, l, at, bytes, element, use);
      }
      access.host[l] = const_cast<uint8_t*>(w.thread->launch->params) + at;
    } else {
      if (window != 0) address[l] |= window;
      global |= 1u << l;
    }
  }
  if (global == m) return Global(w, address, m, bytes, element, use, access);
  if (shared == m) return Shared(w, address, m, bytes, element, use, access);
  if (place == Place::kParam && m == kAllLanes) {
    uint64_t same = 0;
    for (int l = 0; l < kLanes; ++l) same |= address[l] ^ address[0];
    if (same == 0) access.kind = Access::kUniform;
  }
  if (global != 0) {
    Access part;
    if (!Global(w, address, global, bytes, element, use, part)) return false;
    EachLane(global, [&](int l) { access.host[l] = part.host[l]; });
  }
  if (shared != 0) {
    Access part;
    part.strong = access.strong;
    part.releases = access.releases;
    if (!Shared(w, address, shared, bytes, element, use, part)) return false;
    access.shared = shared;
    EachLane(shared, [&](int l) { access.host[l] = part.host[l]; });
  }
  return true;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
