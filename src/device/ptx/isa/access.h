// From the addresses of a warp's lanes to host pointers: which space, in bounds, aligned,
// initialised, allowed; counted. Everything a load, store or atomic must ask before it touches
// memory.
#pragma once

#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/race.h"

namespace cudaagent::device::ptx::PTX_ISA {

// What a volatile or acquiring access takes of the quantum: a loop that spins on one yields soon.
inline constexpr int64_t kHotCost = 512;

// kAsync: the target of a cp.async, checked but not yet written.
enum class Use : uint8_t { kRead, kWrite, kAtomic, kAsync };

struct Access {
  enum Kind : uint8_t { kUniform, kConsecutive, kScattered };
  Kind kind = kScattered;
  bool strong = false;    // set by the caller: volatile or atomic
  bool releases = false;  // the same: an atomic with .release or .acq_rel
  uint32_t shared = 0;    // lanes that name shared memory
  uint8_t* host[kLanes];  // of active lanes; kUniform and kConsecutive: [0] is lane 0's
};

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
  for (; i < n; ++i) all &= written[i] == 1 ? ~uint64_t{0} : 0;
  return all == 0x0101010101010101u;
}

// Notes that shared bytes are written. Once all are, neither reads nor writes ask any more.
inline void MarkShared(BlockState& b, uint8_t* written, uint32_t n) {
  uint32_t fresh = 0;
  for (uint32_t i = 0; i < n; ++i) fresh += written[i] ^ 1u;
  std::memset(written, 1, n);
  b.shared_unwritten -= fresh;
}

// Whether all lanes of a full warp name one address or follow one another. Compared with the first
// lane's, so that the loops are whole vectors.
template <uint32_t kBytes, class A>
inline Access::Kind PatternOf(const A* a) {
  const A first = a[0], apart = a[1] - first;
  A different = 0;
  if (apart == 0) {
    for (int l = 0; l < kLanes; ++l) different |= a[l] ^ first;
    return different == 0 ? Access::kUniform : Access::kScattered;
  }
  if (apart != kBytes) return Access::kScattered;
  for (int l = 0; l < kLanes; ++l) different |= a[l] ^ (first + static_cast<A>(l) * A{kBytes});
  return different == 0 ? Access::kConsecutive : Access::kScattered;
}

// A full warp's access of one address or of consecutive ones, all checks in one. False: something
// is wrong or unusual, and the lane by lane path finds out what.
inline bool GlobalRun(Warp& w, uint64_t first, uint32_t span, uint32_t bytes, Use use,
                      Access& access) {
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
  access.host[0] = reinterpret_cast<uint8_t*>(first + a->shift);
  return true;
}
template <uint32_t kBytes, Use kUse>
[[gnu::always_inline]] inline bool SharedRun(Warp& w, uint64_t first, uint32_t span, bool strong,
                                             Access& access) {
  BlockState& b = *w.block;
  uint32_t limit = w.thread->launch->shared_bytes;
  if ((first & (kBytes - 1)) != 0 || first > limit || span > limit - first) return false;
  uint8_t* written = b.shared_written + first;
  if (b.shared_unwritten != 0 && (kUse == Use::kRead || b.in_flight != 0) &&
      !AllWritten(written, span)) {
    return false;
  }
  if (b.race != nullptr) {
    if (strong) return false;
    uint32_t at = static_cast<uint32_t>(first);
    bool apart = kUse != Use::kRead ? RunWrite<kBytes>(*b.race, w, at)
                 : span == kBytes   ? RunRead<kBytes, kBytes>(*b.race, w, at)
                                    : RunRead<kBytes, kBytes * kLanes>(*b.race, w, at);
    if (!apart) return false;
  }
  if (kUse == Use::kWrite && b.shared_unwritten != 0) MarkShared(b, written, span);
  Counters& c = w.thread->counters;
  ++c.shared_requests;
  c.wavefronts += (span + 127) / 128;
  access.host[0] = b.shared + first;
  return true;
}

// Before a lane writes to what it resolved: whether it races. False: the thread's fault was filled.
inline bool MayWrite(Warp& w, const Access& access, uint32_t lane, uint32_t bytes,
                     const void* value) {
  RaceState* race = w.block->race;
  if (race == nullptr || (access.shared >> lane & 1) == 0) return true;
  uint32_t at = static_cast<uint32_t>(access.host[lane] - w.block->shared);
  return LaneWrite(*race, w, lane, at, bytes, value, access.strong);
}

// Every active lane on its own; the same answers as Resolve, and every fault. False: the thread's
// fault was filled. Races of reads and atomics are looked for here, those of writes by MayWrite.
bool ResolveLanes(Warp& w, const Instr& in, uint32_t m, uint32_t bytes, uint32_t element, Use use,
                  Access& access);

// The same for addresses at hand, relative to `place` (generic ones carry their window).
bool ResolveAddresses(Warp& w, Place place, uint64_t* address, uint32_t m, uint32_t bytes,
                      uint32_t element, Use use, Access& access);
// The lanes' addresses: op[4] + imm.
void LaneAddresses(Warp& w, const Instr& in, uint64_t* address);

// A full warp's load or store of one address or of consecutive ones: true with access.kind and
// access.host[0] set. False: ask ResolveLanes.
template <uint32_t kBytes, Use kUse>
[[gnu::always_inline]] inline bool ResolveRun(Warp& w, const Instr& in, uint32_t m,
                                              Access& access) {
  if (m != kAllLanes) return false;
  if ((in.op[4] & kLiteral) != 0) {
    access.kind = Access::kUniform;
  } else {
    access.kind = in.wide_address ? PatternOf<kBytes>(At<uint64_t>(w, in.op[4]))
                                  : PatternOf<kBytes>(At<uint32_t>(w, in.op[4]));
  }
  if (access.kind == Access::kScattered || (access.kind == Access::kUniform && kUse != Use::kRead))
    return false;
  uint64_t offset = static_cast<uint64_t>(in.imm);
  uint64_t first =
      in.wide_address
          ? *At<uint64_t>(w, in.op[4]) + offset
          : static_cast<uint32_t>(*At<uint32_t>(w, in.op[4]) + static_cast<uint32_t>(offset));
  uint32_t span = access.kind == Access::kConsecutive ? kBytes * kLanes : kBytes;
  Place place = in.place;
  if (place == Place::kGeneric) {
    uint64_t window = first & kWindowMask;
    place = window == 0 ? Place::kGlobal : window == kSharedWindow ? Place::kShared : Place::kLocal;
    first &= ~window;
  }
  bool done = false;
  if (place == Place::kShared) {
    done = SharedRun<kBytes, kUse>(w, first, span, in.hot, access);
  } else if (place == Place::kGlobal || place == Place::kConst) {
    done = GlobalRun(w, first, span, kBytes, kUse, access);
  }
  if (done && in.hot) w.quantum -= kHotCost;
  return done;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
