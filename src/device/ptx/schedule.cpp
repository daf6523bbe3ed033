// Groups of lanes inside a warp, barriers between warps: slow paths, built once.
#include <cpuid.h>

#include <algorithm>

#include "device/ptx/isa_entry.h"
#include "device/ptx/race.h"

namespace cudaagent::device::ptx {
namespace {

void Unpark(Warp& warp, int at) {
  warp.parked[at] = warp.parked[warp.n_parked - 1];
  --warp.n_parked;
}

void Park(Warp& warp, const Parked& parked) {
  for (int i = 0; i < warp.n_parked; ++i) {
    Parked& other = warp.parked[i];
    if (other.pc == parked.pc && other.wait == parked.wait && other.barrier == parked.barrier &&
        other.need == parked.need) {
      other.mask |= parked.mask;
      return;
    }
  }
  warp.parked[warp.n_parked++] = parked;
}

void SetStop(Warp& warp) {
  warp.stop_pc = 0xffffffffu;
  for (int i = 0; i < warp.n_ready; ++i) warp.stop_pc = std::min(warp.stop_pc, warp.ready[i].pc);
}

void PutBack(Warp& warp) {
  if (warp.mask != 0) PushReady(warp, warp.pc, warp.mask);
  warp.mask = 0;
}

void Take(Warp& warp, int at) {
  warp.pc = warp.ready[at].pc;
  warp.mask = warp.ready[at].mask;
  warp.ready[at] = warp.ready[warp.n_ready - 1];
  --warp.n_ready;
}

// bar.red: gives the released lanes the vote's result.
void DeliverVote(Warp& warp, const Parked& parked, const Barrier& barrier) {
  const Instr& in = warp.thread->launch->kernel->code[parked.pc];
  if (in.op[4] == kNoOperand) return;
  uint32_t* d = reinterpret_cast<uint32_t*>(warp.base[0] + in.op[0]);
  if (in.aux == 0) {
    for (int l = 0; l < kLanes; ++l) {
      if (parked.mask >> l & 1) d[l] = barrier.votes;
    }
    return;
  }
  bool yes = in.aux == 1 ? barrier.votes == barrier.voters : barrier.votes != 0;
  *d = yes ? *d | parked.mask : *d & ~parked.mask;
}

// Notes two threads that wait at one barrier at different lines of the source: __syncthreads() is
// undefined unless all threads of the block reach the same one; a barrier with a count only unless
// those of one warp do.
void CheckSameLine(BlockState& block, const Barrier& barrier, const Warp& warp,
                   const Parked& parked, const Warp*& first, const Parked*& other) {
  bool comparable = first != nullptr && (barrier.expected == 0 || first == &warp);
  if (!comparable) {
    first = &warp;
    other = &parked;
    return;
  }
  const std::vector<Instr>& code = warp.thread->launch->kernel->code;
  uint32_t here = code[parked.pc].line, there = code[other->pc].line;
  if (block.divergent || here == there || here == 0 || there == 0) return;
  block.divergent = true;
  block.divergent_thread[0] =
      warp.index * kLanes + static_cast<uint32_t>(__builtin_ctz(parked.mask));
  block.divergent_thread[1] =
      first->index * kLanes + static_cast<uint32_t>(__builtin_ctz(other->mask));
  block.divergent_pc[0] = parked.pc;
  block.divergent_pc[1] = other->pc;
}

// Looks at who meets at a barrier, and tells the race detector.
void Meet(BlockState& block, uint32_t id) {
  uint32_t waiting = 0, lanes = 0;
  const Warp* first = nullptr;
  const Parked* other = nullptr;
  for (uint32_t n = 0; n < block.n_warps; ++n) {
    const Warp& warp = block.warps[n];
    for (int i = 0; i < warp.n_parked; ++i) {
      const Parked& parked = warp.parked[i];
      if (parked.wait != Wait::kBarrier || parked.barrier != id) continue;
      CheckSameLine(block, block.barriers[id], warp, parked, first, other);
      waiting |= 1u << n;
      lanes += static_cast<uint32_t>(__builtin_popcount(parked.mask));
    }
  }
  if (block.race != nullptr) RaceBarrier(block, id, waiting, lanes >= block.live_threads);
}

void ReleaseBarrier(BlockState& block, uint32_t id) {
  Barrier& barrier = block.barriers[id];
  Meet(block, id);
  for (uint32_t n = 0; n < block.n_warps; ++n) {
    Warp& warp = block.warps[n];
    for (int i = 0; i < warp.n_parked;) {
      Parked parked = warp.parked[i];
      if (parked.wait != Wait::kBarrier || parked.barrier != id) {
        ++i;
        continue;
      }
      Unpark(warp, i);
      DeliverVote(warp, parked, barrier);
      PushReady(warp, parked.pc + 1, parked.mask);
    }
  }
  barrier = Barrier{};
}

bool Complete(const BlockState& block, const Barrier& barrier) {
  uint32_t expected = barrier.expected != 0 ? barrier.expected : block.live_threads;
  return barrier.arrived != 0 && barrier.arrived >= expected;
}

}  // namespace

void PushReady(Warp& warp, uint32_t pc, uint32_t mask) {
  if (mask == 0) return;
  warp.stop_pc = std::min(warp.stop_pc, pc);
  for (int i = 0; i < warp.n_ready; ++i) {
    if (warp.ready[i].pc == pc) {
      warp.ready[i].mask |= mask;
      return;
    }
  }
  warp.ready[warp.n_ready++] = {pc, mask};
}

bool PickGroup(Warp& warp) {
  PutBack(warp);
  if (warp.n_ready == 0) {
    warp.stop_pc = 0xffffffffu;
    return false;
  }
  int lowest = 0;
  for (int i = 1; i < warp.n_ready; ++i) {
    if (warp.ready[i].pc < warp.ready[lowest].pc) lowest = i;
  }
  Take(warp, lowest);
  SetStop(warp);
  return true;
}

void RotateGroup(Warp& warp) {
  if (warp.n_ready == 0) return;
  // The list is a queue here: the running group goes to its end, its first is taken.
  Group next = warp.ready[0];
  for (int i = 1; i < warp.n_ready; ++i) warp.ready[i - 1] = warp.ready[i];
  --warp.n_ready;
  if (next.pc == warp.pc) next.mask |= warp.mask;
  if (next.pc != warp.pc) PutBack(warp);
  warp.pc = next.pc;
  warp.mask = next.mask;
  warp.stop_pc = 0xffffffffu;  // lets it run past the others for one quantum
}

bool GatherLanes(Warp& warp, uint32_t need, uint32_t mask, uint32_t* all) {
  uint32_t together = mask;
  for (int i = 0; i < warp.n_parked; ++i) {
    const Parked& parked = warp.parked[i];
    if (parked.wait == Wait::kSame && parked.pc == warp.pc && parked.need == need)
      together |= parked.mask;
  }
  if ((need & warp.alive & ~together) != 0) {
    Park(warp, {warp.pc, mask, need, Wait::kSame, 0});
    return false;
  }
  for (int i = warp.n_parked - 1; i >= 0; --i) {
    const Parked& parked = warp.parked[i];
    if (parked.wait == Wait::kSame && parked.pc == warp.pc && parked.need == need) Unpark(warp, i);
  }
  *all = together;
  return true;
}

bool GatherWarp(Warp& warp, uint32_t need, uint32_t mask) {
  uint32_t together = mask;
  for (int i = 0; i < warp.n_parked; ++i) {
    const Parked& parked = warp.parked[i];
    if (parked.wait == Wait::kWarp && parked.need == need) together |= parked.mask;
  }
  if ((need & warp.alive & ~together) != 0) {
    Park(warp, {warp.pc, mask, need, Wait::kWarp, 0});
    return false;
  }
  for (int i = warp.n_parked - 1; i >= 0; --i) {
    Parked parked = warp.parked[i];
    if (parked.wait != Wait::kWarp || parked.need != need) continue;
    Unpark(warp, i);
    PushReady(warp, parked.pc + 1, parked.mask);
  }
  return true;
}

void ExitLanes(Warp& warp, uint32_t mask) {
  warp.alive &= ~mask;
  BlockState& block = *warp.block;
  block.live_threads -= static_cast<uint32_t>(__builtin_popcount(mask));
  // Lanes that waited for those that are gone.
  for (int i = warp.n_parked - 1; i >= 0; --i) {
    Parked parked = warp.parked[i];
    if (parked.wait == Wait::kBarrier) continue;
    uint32_t together = 0;
    for (int k = 0; k < warp.n_parked; ++k) {
      const Parked& other = warp.parked[k];
      bool same = other.wait == parked.wait && other.need == parked.need &&
                  (parked.wait == Wait::kWarp || other.pc == parked.pc);
      if (same) together |= other.mask;
    }
    if ((parked.need & warp.alive & ~together) != 0) continue;
    Unpark(warp, i);
    PushReady(warp, parked.pc + (parked.wait == Wait::kWarp ? 1 : 0), parked.mask);
    i = warp.n_parked;  // start over: the list was reordered
  }
  for (uint32_t id = 0; id < kBarriers; ++id) {
    if (block.barriers[id].arrived != 0 && Complete(block, block.barriers[id]))
      ReleaseBarrier(block, id);
  }
}

void ArriveBarrier(Warp& warp, uint32_t id, uint32_t count, uint32_t mask, bool wait) {
  BlockState& block = *warp.block;
  Barrier& barrier = block.barriers[id];
  // With an explicit count the hardware counts whole warps.
  bool whole = mask == warp.alive;
  barrier.arrived += count != 0 && whole ? kLanes : static_cast<uint32_t>(__builtin_popcount(mask));
  if (count != 0) barrier.expected = count;
  if (!wait && block.race != nullptr) RaceArrive(warp, id);
  if (wait) Park(warp, {warp.pc, mask, 0, Wait::kBarrier, id});
  if (Complete(block, barrier)) ReleaseBarrier(block, id);
}

// Two of x86-64-v3 that clang 14's __builtin_cpu_supports has no name for.
static bool HasLzcntAndF16c() {
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_F16C) == 0) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & bit_LZCNT) != 0;
}

const Executor& BestExecutor() {
  static const Executor& best = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                        __builtin_cpu_supports("bmi2") && HasLzcntAndF16c()
                                    ? V3Executor()
                                    : BaselineExecutor();
  return best;
}

}  // namespace cudaagent::device::ptx
