// Where an address lies, and what a warp's request costs: slow paths, built once.
#include <algorithm>
#include <cstring>

#include "device/ptx/machine.h"

namespace cudaagent::device::ptx {

const Allocation* FindAllocation(ThreadState& thread, uint64_t address, uint64_t bytes) {
  const Allocation* last = thread.last;
  if (last != nullptr && address >= last->begin && address + bytes <= last->end) return last;
  const LaunchState& launch = *thread.launch;
  const Allocation* begin = launch.table;
  const Allocation* end = begin + launch.table_size;
  const Allocation* above = std::upper_bound(
      begin, end, address, [](uint64_t value, const Allocation& a) { return value < a.begin; });
  if (above == begin) return nullptr;
  const Allocation* found = above - 1;
  if (address >= found->end || bytes > found->end - address) return nullptr;
  if (found->touched != nullptr) __atomic_store_n(found->touched, true, __ATOMIC_RELAXED);
  if (found->pages != nullptr) {
    // Not remembered: the next access may lie in another page.
    if (found->pages->Fetch(address - found->begin, bytes)) return found;
    thread.not_fetched = true;
    return nullptr;
  }
  thread.last = found;
  return found;
}

uint32_t CountSectors(const uint64_t* address, uint32_t bytes, uint32_t mask) {
  uint64_t low = ~uint64_t{0}, high = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    uint64_t at = address[__builtin_ctz(rest)];
    low = std::min(low, at);
    high = std::max(high, at + bytes - 1);
  }
  uint64_t first = low >> 5;
  if ((high >> 5) - first < 64) {
    uint64_t seen = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      uint64_t at = address[__builtin_ctz(rest)];
      seen |= uint64_t{1} << ((at >> 5) - first);
      seen |= uint64_t{1} << (((at + bytes - 1) >> 5) - first);
    }
    return static_cast<uint32_t>(__builtin_popcountll(seen));
  }
  uint64_t sectors[kLanes];  // aligned accesses of at most 32 bytes lie in one sector each
  int n = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    sectors[n++] = address[__builtin_ctz(rest)] >> 5;
  std::sort(sectors, sectors + n);
  return static_cast<uint32_t>(std::unique(sectors, sectors + n) - sectors);
}

uint32_t CountWavefronts(const uint32_t* address, uint32_t bytes, uint32_t mask) {
  if (bytes <= 4) {
    // The common case: no bank is asked for two words.
    uint32_t word_of[kLanes], seen = 0, clash = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      uint32_t word = address[__builtin_ctz(rest)] / 4, bank = word & 31;
      clash |= (seen >> bank & 1) != 0 ? word_of[bank] ^ word : 0;
      seen |= 1u << bank;
      word_of[bank] = word;
    }
    if (clash == 0) return 1;
  }
  // 32 banks of 4 bytes; lanes naming one word share it. Accesses of 8 and 16 bytes go by half and
  // quarter warps.
  uint32_t per_part = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, total = 0;
  uint32_t words = std::max(1u, bytes / 4);
  for (uint32_t first = 0; first < kLanes; first += per_part) {
    uint32_t part = per_part == 32 ? mask : mask & (((1u << per_part) - 1) << first);
    if (part == 0) continue;
    uint32_t seen[kLanes][kLanes];
    uint8_t count[kLanes] = {};
    uint32_t most = 1;
    for (uint32_t rest = part; rest != 0; rest &= rest - 1) {
      uint32_t word = address[__builtin_ctz(rest)] / 4;
      for (uint32_t k = 0; k < words; ++k, ++word) {
        uint32_t bank = word & 31;
        uint32_t i = 0;
        while (i < count[bank] && seen[bank][i] != word) ++i;
        if (i == count[bank]) seen[bank][count[bank]++] = word;
        most = std::max<uint32_t>(most, count[bank]);
      }
    }
    total += most;
  }
  return total;
}

int ReadByte(Warp& warp, uint32_t lane, uint64_t address) {
  ThreadState& thread = *warp.thread;
  uint64_t window = address & kWindowMask, at = address & ~kWindowMask;
  if (window == 0) {
    const Allocation* found = FindAllocation(thread, address, 1);
    if (found == nullptr) return -1;
    return *reinterpret_cast<const uint8_t*>(address + found->shift);
  }
  if (window == kSharedWindow && at < thread.launch->shared_bytes) return warp.block->shared[at];
  uint64_t stride = thread.launch->kernel->local_total;
  if (window == kLocalWindow && at < stride) return warp.local[lane * stride + at];
  if (window == kParamWindow && at < thread.launch->param_bytes) return thread.launch->params[at];
  return -1;
}

void ReadString(Warp& warp, uint32_t lane, uint64_t address, char* out, size_t size) {
  size_t n = 0;
  for (; n + 1 < size && n < 1024; ++n) {
    int c = ReadByte(warp, lane, address + n);
    if (c <= 0) break;
    out[n] = static_cast<char>(c);
  }
  out[n] = 0;
}

}  // namespace cudaagent::device::ptx
