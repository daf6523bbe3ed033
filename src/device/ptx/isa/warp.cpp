// Instructions of a whole warp: shuffles, votes, matches, reductions, barriers.
#include "device/ptx/isa/lanes.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

Step SyncFault(Warp& w, int lane, uint32_t need, FaultKind kind = FaultKind::kSync) {
  FaultState& f = w.thread->fault;
  f.kind = kind;
  f.lane = static_cast<uint32_t>(lane);
  f.warp = w.index;
  f.block = w.block->index;
  f.pc = w.pc;
  f.address = need;
  return Step::kFault;
}

// The lanes of `m` that name the same members as the lowest one does.
inline uint32_t SameMask(Warp& w, uint32_t mask_op, uint32_t m, uint32_t* need) {
  const uint32_t* masks = At<uint32_t>(w, mask_op);
  *need = masks[__builtin_ctz(m)];
  if ((mask_op & kLiteral) != 0) return m;
  uint32_t same = 0;
  EachLane(m, [&](int l) { same |= masks[l] == *need ? 1u << l : 0u; });
  return same;
}

// The lanes of `parked` wait; the others go on.
Step Leave(Warp& w, uint32_t parked) {
  if (parked == 0) return Step::kNext;
  w.mask &= ~parked;
  if (w.mask == 0) return Step::kReschedule;
  ++w.pc;
  return Step::kJump;
}

// Runs F(lanes) for each set of lanes that name the same members, once all those are here.
template <class F>
Step Gathered(Warp& w, uint32_t mask_op, uint32_t m, F f) {
  uint32_t parked = 0;
  ++w.race_time;
  while (m != 0) {
    uint32_t need = 0, same = SameMask(w, mask_op, m, &need), all = same;
    if ((same & ~need) != 0) return SyncFault(w, __builtin_ctz(same & ~need), need);
    if ((need & w.alive & ~same) == 0) {
      f(all);
    } else if (GatherLanes(w, need, same, &all)) {
      w.mask |= all;
      f(all);
    } else {
      parked |= same;
    }
    m &= ~same;
  }
  return Leave(w, parked);
}

// shfl.sync d|p, a, b, c, membermask: op = d, a, b, c, membermask, p.
template <int kMode>  // 0 up, 1 down, 2 bfly, 3 idx
Step Shuffle(Warp& w, const Instr& in, uint32_t m) {
  return Gathered(w, in.op[4], m, [&](uint32_t all) {
    uint32_t* d = At<uint32_t>(w, in.op[0]);
    const uint32_t* a = At<uint32_t>(w, in.op[1]);
    const uint32_t* b = At<uint32_t>(w, in.op[2]);
    const uint32_t* c = At<uint32_t>(w, in.op[3]);
    alignas(64) uint32_t t[kLanes];
    uint32_t valid = 0;
    auto lane = [&](int l, uint32_t by, uint32_t bound) {
      uint32_t clamp = bound & 31, segment = bound >> 8 & 31, self = static_cast<uint32_t>(l);
      int top = static_cast<int>((self & segment) | (clamp & ~segment));
      int from = kMode == 0   ? l - static_cast<int>(by)
                 : kMode == 1 ? l + static_cast<int>(by)
                 : kMode == 2 ? static_cast<int>(self ^ by)
                              : static_cast<int>((self & segment) | (by & ~segment));
      bool in_range = kMode == 0 ? from >= top : from <= top;
      t[l] = a[in_range ? from & 31 : l];
      valid |= in_range ? 1u << l : 0u;
    };
    if ((in.op[2] & in.op[3] & kLiteral) != 0) {
      uint32_t by = b[0] & 31, bound = c[0];
      for (int l = 0; l < kLanes; ++l) lane(l, by, bound);
    } else {
      for (int l = 0; l < kLanes; ++l) lane(l, b[l] & 31, c[l]);
    }
    if (in.op[0] != kNoOperand) Blend(d, t, all);
    SetPredicate(w, in.op[5], valid, all);
  });
}

// vote.sync: op = d, p, membermask; extra bit 1: p is negated.
template <int kMode>  // 0 all, 1 any, 2 uni, 3 ballot
Step Vote(Warp& w, const Instr& in, uint32_t m) {
  return Gathered(w, in.op[2], m, [&](uint32_t all) {
    uint32_t p = (Mask(w, in.op[1]) ^ (in.extra & 1 ? kAllLanes : 0)) & all;
    if (kMode == 3) {
      uint32_t* d = At<uint32_t>(w, in.op[0]);
      EachLane(all, [&](int l) { d[l] = p; });
      return;
    }
    bool yes = kMode == 0 ? p == all : kMode == 1 ? p != 0 : p == all || p == 0;
    SetPredicate(w, in.op[0], yes ? kAllLanes : 0, all);
  });
}

// match.any / match.all: op = d, a, membermask, -, -, p.
template <class T, bool kAll>
Step Match(Warp& w, const Instr& in, uint32_t m) {
  return Gathered(w, in.op[2], m, [&](uint32_t all) {
    uint32_t* d = At<uint32_t>(w, in.op[0]);
    const T* a = At<T>(w, in.op[1]);
    alignas(64) uint32_t t[kLanes] = {};
    uint32_t same_all = all;
    EachLane(all, [&](int l) {
      uint32_t same = 0;
      EachLane(all, [&](int k) { same |= a[k] == a[l] ? 1u << k : 0u; });
      t[l] = same;
      same_all &= same;
    });
    EachLane(all, [&](int l) { d[l] = kAll ? (same_all == all ? all : 0) : t[l]; });
    SetPredicate(w, in.op[5], same_all == all ? kAllLanes : 0, all);
  });
}

// redux.sync: op = d, a, membermask; aux a ReduxOp.
Step Redux(Warp& w, const Instr& in, uint32_t m) {
  return Gathered(w, in.op[2], m, [&](uint32_t all) {
    uint32_t* d = At<uint32_t>(w, in.op[0]);
    const uint32_t* a = At<uint32_t>(w, in.op[1]);
    uint32_t r = a[__builtin_ctz(all)];
    EachLane(all & (all - 1), [&](int l) {
      uint32_t x = a[l];
      switch (static_cast<ReduxOp>(in.aux)) {
        case ReduxOp::kAdd:
          r += x;
          break;
        case ReduxOp::kMinS:
          r = static_cast<int32_t>(x) < static_cast<int32_t>(r) ? x : r;
          break;
        case ReduxOp::kMaxS:
          r = static_cast<int32_t>(r) < static_cast<int32_t>(x) ? x : r;
          break;
        case ReduxOp::kMinU:
          r = x < r ? x : r;
          break;
        case ReduxOp::kMaxU:
          r = r < x ? x : r;
          break;
        case ReduxOp::kAnd:
          r &= x;
          break;
        case ReduxOp::kOr:
          r |= x;
          break;
        case ReduxOp::kXor:
          r ^= x;
          break;
      }
    });
    EachLane(all, [&](int l) { d[l] = r; });
  });
}

Step ActiveMask(Warp& w, const Instr& in, uint32_t m) {
  uint32_t* d = At<uint32_t>(w, in.op[0]);
  EachLane(m, [&](int l) { d[l] = m; });
  return Step::kNext;
}

Step BarWarp(Warp& w, const Instr& in, uint32_t m) {
  uint32_t parked = 0;
  ++w.race_time;
  while (m != 0) {
    uint32_t need = 0, same = SameMask(w, in.op[0], m, &need);
    if ((same & ~need) != 0) return SyncFault(w, __builtin_ctz(same & ~need), need);
    if ((need & w.alive & ~same) != 0 && !GatherWarp(w, need, same)) parked |= same;
    m &= ~same;
  }
  return Leave(w, parked);
}

// op[2] barrier, op[3] thread count or none. bar.red: op[0] result, op[4] predicate, aux the
// operation, extra 1 = the predicate is negated.
template <int kMode>  // 0 sync, 1 arrive, 2 red
Step Bar(Warp& w, const Instr& in, uint32_t m) {
  int lane = __builtin_ctz(m);
  uint32_t id = At<uint32_t>(w, in.op[2])[lane];
  uint32_t count = in.op[3] == kNoOperand ? 0 : At<uint32_t>(w, in.op[3])[lane];
  if (id >= kBarriers) return SyncFault(w, lane, id, FaultKind::kBarrierId);
  if (kMode == 2) {
    uint32_t p = (Mask(w, in.op[4]) ^ (in.extra & 1 ? kAllLanes : 0)) & m;
    w.block->barriers[id].votes += static_cast<uint32_t>(__builtin_popcount(p));
    w.block->barriers[id].voters += static_cast<uint32_t>(__builtin_popcount(m));
  }
  uint32_t rest = w.mask & ~m;
  if (kMode == 1) {
    ArriveBarrier(w, id, count, m, false);
    return Step::kNext;
  }
  uint32_t next = w.pc + 1;
  w.mask = 0;
  if (rest != 0) PushReady(w, next, rest);
  ArriveBarrier(w, id, count, m, true);
  return Step::kReschedule;
}

}  // namespace

void RegisterWarp(Families& f) {
  f.shfl[0] = Shuffle<0>;
  f.shfl[1] = Shuffle<1>;
  f.shfl[2] = Shuffle<2>;
  f.shfl[3] = Shuffle<3>;
  f.vote[0] = Vote<0>;
  f.vote[1] = Vote<1>;
  f.vote[2] = Vote<2>;
  f.vote[3] = Vote<3>;
  f.match[0][0] = Match<uint32_t, false>;
  f.match[0][1] = Match<uint64_t, false>;
  f.match[1][0] = Match<uint32_t, true>;
  f.match[1][1] = Match<uint64_t, true>;
  f.redux = Redux;
  f.activemask = ActiveMask;
  f.bar_warp = BarWarp;
  f.bar_sync = Bar<0>;
  f.bar_arrive = Bar<1>;
  f.bar_red = Bar<2>;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
