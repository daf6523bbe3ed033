#include "device/ptx/isa/access.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

bool Fault(Warp& w, FaultKind kind, int lane, uint64_t address, uint32_t bytes, uint32_t element, Use use) {
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

// Written bytes are 1.
inline bool AllWritten(const uint8_t* written, uint32_t n) {
  if (n == 4) {
    uint32_t word;
    std::memcpy(&word, written, 4);
    return word == 0x01010101u;
  }
  uint64_t all = 0x0101010101010101u;
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    std::memcpy(&word, written + i, 8);
    all &= word;
  }
  for (; i < n; ++i) all &= written[i] != 0 ? ~uint64_t{0} : 0;
  return all == 0x0101010101010101u;
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
  if (a == nullptr) return Fault(w, FaultKind::kBounds, lane, address, bytes, element, use);
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

// Notes that shared bytes are written. Once all are, neither reads nor writes ask any more.
inline void MarkShared(BlockState& b, uint8_t* written, uint32_t n) {
  uint32_t fresh = 0;
  for (uint32_t i = 0; i < n; ++i) fresh += written[i] ^ 1u;
  std::memset(written, 1, n);
  b.shared_unwritten -= fresh;
}

// Whether all lanes name one address or follow one another, for a full warp.
template <class A>
inline Access::Kind PatternOf(const A* a, uint32_t bytes) {
  A same = 0, step = 0, first = a[0];
  for (int l = 0; l < kLanes; ++l) {
    same |= a[l] ^ first;
    step |= a[l] - first - static_cast<A>(l) * static_cast<A>(bytes);
  }
  return step == 0 ? Access::kConsecutive : same == 0 ? Access::kUniform : Access::kScattered;
}

// A full warp's access of one address or of consecutive ones, all checks in one. False: something is
// wrong or unusual, and the lane by lane path finds out what.
inline bool GlobalRun(Warp& w, uint64_t first, uint32_t span, uint32_t bytes, Use use, Access& access) {
  if ((first & (bytes - 1)) != 0) return false;
  ThreadState& t = *w.thread;
  const Allocation* a = t.last;
  if (a == nullptr || first < a->begin || first + span > a->end) a = FindAllocation(t, first, span);
  if (a == nullptr || (use != Use::kRead && !a->writable)) return false;
  if (a->written != nullptr) {
    uint8_t* written = a->written + (first - a->begin);
    if (use == Use::kRead && !AllWritten(written, span)) return false;
    if (use == Use::kWrite) std::memset(written, 1, span);
  }
  ++t.counters.requests;
  t.counters.bytes += kLanes * bytes;
  t.counters.sectors += ((first + span - 1) >> 5) - (first >> 5) + 1;
  access.host[0] = reinterpret_cast<uint8_t*>(first);
  return true;
}
inline bool SharedRun(Warp& w, uint64_t first, uint32_t span, uint32_t bytes, Use use, Access& access) {
  BlockState& b = *w.block;
  uint32_t limit = w.thread->launch->shared_bytes;
  if ((first & (bytes - 1)) != 0 || first > limit || span > limit - first) return false;
  if (b.shared_unwritten != 0) {
    uint8_t* written = b.shared_written + first;
    if (use == Use::kRead && !AllWritten(written, span)) return false;
    if (use == Use::kWrite) MarkShared(b, written, span);
  }
  Counters& c = w.thread->counters;
  ++c.shared_requests;
  c.wavefronts += (span + 127) / 128;
  access.host[0] = b.shared + first;
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
    if ((at & (bytes - 1)) != 0) return Fault(w, FaultKind::kMisaligned, l, at, bytes, element, use);
    const Allocation* a = t.last;
    if (a == nullptr || at < a->begin || at + bytes > a->end) a = FindAllocation(t, at, bytes);
    if (!CheckGlobal(w, a, l, at, bytes, element, use)) return false;
    access.host[l] = reinterpret_cast<uint8_t*>(at);
  }
  c.sectors += CountSectors(address, bytes, m);
  return true;
}

bool Shared(Warp& w, const uint64_t* wide, uint32_t m, uint32_t bytes, uint32_t element, Use use,
            Access& access) {
  Counters& c = w.thread->counters;
  BlockState& b = *w.block;
  uint32_t limit = w.thread->launch->shared_bytes;
  ++c.shared_requests;
  uint32_t address[kLanes];
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint64_t at = wide[l];
    if ((at & (bytes - 1)) != 0) return Fault(w, FaultKind::kMisaligned, l, at + kSharedWindow, bytes, element, use);
    if (at > limit || bytes > limit - at) {
      return Fault(w, FaultKind::kSharedBounds, l, at, bytes, element, use);
    }
    uint8_t* written = b.shared_written + at;
    access.host[l] = b.shared + at;
    address[l] = static_cast<uint32_t>(at);
    if (b.shared_unwritten == 0) continue;
    if (use != Use::kWrite && !Initialised(written, bytes, element)) {
      return Fault(w, FaultKind::kSharedUninitialised, l, at, bytes, element, use);
    }
    if (use != Use::kRead) MarkShared(b, written, bytes);
  }
  c.wavefronts += CountWavefronts(address, bytes, m);
  return true;
}

}  // namespace

// Local memory is one run of bytes per lane.
bool Resolve(Warp& w, const Instr& in, uint32_t m, uint32_t bytes, uint32_t element, Use use,
             Access& access) {
  if (in.hot) w.quantum -= 512;
  uint64_t offset = static_cast<uint64_t>(in.imm);
  if (m == kAllLanes && use != Use::kAtomic) {
    access.kind = in.wide_address ? PatternOf(At<uint64_t>(w, in.op[4]), bytes)
                                  : PatternOf(At<uint32_t>(w, in.op[4]), bytes);
    if (access.kind == Access::kConsecutive || (access.kind == Access::kUniform && use == Use::kRead)) {
      uint64_t first = in.wide_address ? *At<uint64_t>(w, in.op[4]) + offset
                                       : static_cast<uint32_t>(*At<uint32_t>(w, in.op[4]) + static_cast<uint32_t>(offset));
      uint32_t span = access.kind == Access::kConsecutive ? bytes * kLanes : bytes;
      uint64_t window = in.place == Place::kGeneric ? first & kWindowMask : 0;
      bool global = in.place == Place::kGlobal || in.place == Place::kConst || (in.place == Place::kGeneric && window == 0);
      bool shared = in.place == Place::kShared || (in.place == Place::kGeneric && window == kSharedWindow);
      if (global && GlobalRun(w, first, span, bytes, use, access)) return true;
      if (shared && SharedRun(w, first & ~window, span, bytes, use, access)) return true;
    }
    access.kind = Access::kScattered;
  }
  alignas(64) uint64_t address[kLanes];
  if (in.wide_address) {
    const uint64_t* a = At<uint64_t>(w, in.op[4]);
    for (int l = 0; l < kLanes; ++l) address[l] = a[l] + offset;
  } else {
    const uint32_t* a = At<uint32_t>(w, in.op[4]);
    for (int l = 0; l < kLanes; ++l) address[l] = static_cast<uint32_t>(a[l] + static_cast<uint32_t>(offset));
  }
  if (in.place == Place::kGlobal || in.place == Place::kConst) {
    return Global(w, address, m, bytes, element, use, access);
  }
  if (in.place == Place::kShared) return Shared(w, address, m, bytes, element, use, access);

  // Generic, local and param: sort the lanes by window.
  uint32_t global = 0, shared = 0;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint64_t window = in.place == Place::kLocal   ? kLocalWindow
                      : in.place == Place::kParam ? kParamWindow
                                                  : address[l] & kWindowMask;
    if (in.place == Place::kGeneric && window != 0) address[l] &= ~kWindowMask;
    uint64_t at = address[l];
    if (window == kSharedWindow) {
      shared |= 1u << l;
    } else if (window == kLocalWindow) {
      uint64_t limit = w.thread->launch->kernel->local_total;
      if ((at & (bytes - 1)) != 0) return Fault(w, FaultKind::kMisaligned, l, at + kLocalWindow, bytes, element, use);
      if (at > limit || bytes > limit - at) return Fault(w, FaultKind::kLocalBounds, l, at, bytes, element, use);
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
  if (in.place == Place::kParam && m == kAllLanes) {
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
    if (!Shared(w, address, shared, bytes, element, use, part)) return false;
    EachLane(shared, [&](int l) { access.host[l] = part.host[l]; });
  }
  return true;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
