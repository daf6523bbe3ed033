// cp.async, non-bulk: op[4] and imm the target in shared memory, op[1] the source in global memory
// plus extra, aux the bytes to copy, op[2] how many of them to read (the others are zero), op[3] a
// predicate that leaves the source alone.
#include "device/ptx/isa/access.h"
#include "device/ptx/isa/register.h"

namespace cudaagent::device::ptx::PTX_ISA {
namespace {

Step Copy(Warp& w, const Instr& in, uint32_t m) {
  const uint32_t bytes = in.aux;
  alignas(64) uint64_t to[kLanes], from[kLanes];
  LaneAddresses(w, in, to);
  const uint64_t* base = At<uint64_t>(w, in.op[1]);
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(in.extra)));
  for (int l = 0; l < kLanes; ++l) from[l] = base[l] + offset;

  const uint32_t* size = in.op[2] == kNoOperand ? nullptr : At<uint32_t>(w, in.op[2]);
  uint32_t ignored = in.op[3] == kNoOperand ? 0 : Mask(w, in.op[3]);
  uint32_t whole = 0, part = 0;
  EachLane(m, [&](int l) {
    uint32_t n = (ignored >> l & 1) != 0 ? 0 : size == nullptr ? bytes : size[l];
    if (n >= bytes)
      whole |= 1u << l;
    else if (n > 0)
      part |= 1u << l;
  });
  Access source, target;
  if (whole != 0 &&
      !ResolveAddresses(w, Place::kGlobal, from, whole, bytes, bytes, Use::kRead, source))
    return Step::kFault;
  if (!ResolveAddresses(w, Place::kShared, to, m, bytes, bytes, Use::kAsync, target))
    return Step::kFault;
  alignas(16) uint8_t data[kLanes][16] = {};
  EachLane(whole, [&](int l) { std::memcpy(data[l], source.host[l], bytes); });
  while (part != 0) {  // byte by byte: only these need to lie in a buffer
    int l = __builtin_ctz(part);
    for (uint32_t i = 0; i < size[l]; ++i) {
      uint64_t at[kLanes];
      at[l] = from[l] + i;
      if (!ResolveAddresses(w, Place::kGlobal, at, 1u << l, 1, 1, Use::kRead, source))
        return Step::kFault;
      data[l][i] = *source.host[l];
    }
    part &= part - 1;
  }
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    uint32_t l = static_cast<uint32_t>(__builtin_ctz(rest));
    uint32_t at = static_cast<uint32_t>(target.host[l] - w.block->shared);
    if (!MayWrite(w, target, l, bytes, data[l])) return Step::kFault;
    if (IssueCopy(w, l, at, bytes, data[l])) continue;
    FaultState& f = w.thread->fault;
    f = FaultState{};
    NameCopy(*w.block, at, f);
    f.kind = FaultKind::kInFlight;
    f.write = true;
    f.lane = l;
    f.warp = w.index;
    f.block = w.block->index;
    f.pc = w.pc;
    f.address = at;
    f.bytes = f.element = bytes;
    return Step::kFault;
  }
  return Step::kNext;
}

Step Commit(Warp& w, const Instr&, uint32_t m) {
  CommitCopies(w, m);
  return Step::kNext;
}

// imm: groups that may stay in flight; aux 1: wait_all.
Step Wait(Warp& w, const Instr& in, uint32_t m) {
  FinishCopies(w, m, static_cast<uint32_t>(in.imm), in.aux != 0);
  return Step::kNext;
}

}  // namespace

void RegisterAsync(Families& f) {
  f.cp_async = Copy;
  f.cp_async_commit = Commit;
  f.cp_async_wait = Wait;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
