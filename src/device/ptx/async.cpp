// cp.async: data leave the source when the copy is issued and appear in shared memory when the lane
// waits for them. What reads or writes the target in between is a fault, so that a missing wait
// never looks right by luck.
#include "device/ptx/async.h"

#include <cstring>

#include "device/ptx/race.h"

namespace cudaagent::device::ptx {
namespace {

constexpr uint8_t kWritten = 1, kCopying = 2;

void Finish(Warp& warp, const AsyncCopy& copy) {
  BlockState& block = *warp.block;
  if (block.race != nullptr) RaceAppear(warp, copy.lane, copy.to, copy.bytes, copy.pc);
  std::memcpy(block.shared + copy.to, copy.data, copy.bytes);
  std::memset(block.shared_written + copy.to, kWritten, copy.bytes);
  block.shared_unwritten -= copy.bytes;
  block.in_flight -= copy.bytes;
}

}  // namespace

bool IssueCopy(Warp& warp, uint32_t lane, uint32_t to, uint32_t bytes, const uint8_t* data) {
  BlockState& block = *warp.block;
  uint8_t* written = block.shared_written + to;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (written[i] == kCopying) return false;
  }
  for (uint32_t i = 0; i < bytes; ++i) block.shared_unwritten += written[i];
  std::memset(written, kCopying, bytes);
  block.in_flight += bytes;
  AsyncCopy copy;
  copy.to = to;
  copy.group = warp.async->committed[lane] + 1;
  copy.pc = warp.pc;
  copy.lane = static_cast<uint8_t>(lane);
  copy.bytes = static_cast<uint8_t>(bytes);
  std::memcpy(copy.data, data, bytes);
  warp.async->copies.push_back(copy);
  return true;
}

void CommitCopies(Warp& warp, uint32_t mask) {
  for (; mask != 0; mask &= mask - 1) ++warp.async->committed[__builtin_ctz(mask)];
}

void FinishCopies(Warp& warp, uint32_t mask, uint32_t keep, bool all) {
  AsyncQueue& queue = *warp.async;
  size_t kept = 0;
  for (const AsyncCopy& copy : queue.copies) {
    uint32_t groups = queue.committed[copy.lane];
    bool done =
        (mask >> copy.lane & 1) != 0 && (all || uint64_t{copy.group} + keep <= uint64_t{groups});
    if (done) {
      Finish(warp, copy);
    } else {
      queue.copies[kept++] = copy;
    }
  }
  queue.copies.resize(kept);
}

void NameCopy(const BlockState& block, uint32_t at, FaultState& fault) {
  for (uint32_t n = 0; n < block.n_warps; ++n) {
    for (const AsyncCopy& copy : block.warps[n].async->copies) {
      if (at < copy.to || at >= copy.to + copy.bytes) continue;
      fault.other_thread = n * kLanes + copy.lane;
      fault.other_pc = copy.pc;
    }
  }
}

}  // namespace cudaagent::device::ptx
