#include "device/ptx/race.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace cudaagent::device::ptx {
namespace {

bool Has(const ByteSet& set, uint32_t i) { return (set.word[i >> 6] >> (i & 63) & 1) != 0; }
void Put(ByteSet& set, uint32_t i) { set.word[i >> 6] |= uint64_t{1} << (i & 63); }
void Drop(ByteSet& set, uint32_t i) { set.word[i >> 6] &= ~(uint64_t{1} << (i & 63)); }

RaceGranule& GranuleOf(RaceState& race, uint32_t g) {
  RaceGranule& granule = race.granule[g];
  if (granule.epoch != race.epoch) {
    granule = RaceGranule{};
    granule.epoch = race.epoch;
  }
  return granule;
}

RaceReads& ReadsOf(RaceState& race, const Warp& warp, uint32_t g) {
  RaceReads& reads = race.reads[warp.index][g];
  if (reads.stamp != warp.race_stamp) {
    reads = RaceReads{};
    reads.stamp = warp.race_stamp;
  }
  return reads;
}
RaceWrites& WritesOf(RaceState& race, const Warp& warp, uint32_t g) {
  RaceWrites& writes = race.writes[warp.index][g];
  if (writes.stamp != warp.race_stamp) {
    writes = RaceWrites{};
    writes.stamp = warp.race_stamp;
    writes.time = warp.race_time;
  } else if (writes.time != warp.race_time) {
    writes.time = warp.race_time;
    writes.write_now = {};
  }
  return writes;
}

void Stamp(RaceState& race, Warp& warp) {
  warp.race_stamp = race.epoch << kReleaseBits | race.release[warp.index];
}

void Release(RaceState& race, Warp& warp) {
  uint32_t& release = race.release[warp.index];
  if (release + 1 < 1u << kReleaseBits) ++release;  // else later ones are not told apart
  race.partial = true;
  Stamp(race, warp);
}

// Whether what a record of warp `u` with this stamp holds may run beside what `warp` does now.
bool Unordered(const RaceState& race, uint64_t stamp, uint32_t u, const Warp& warp) {
  if (stamp >> kReleaseBits != race.epoch) return false;
  uint32_t release = static_cast<uint32_t>(stamp & ((1u << kReleaseBits) - 1));
  return race.clock[warp.index].of[u] < release;
}

enum class Doer { kReader, kWriter };

bool Race(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, bool write, bool atomic,
          uint32_t byte, uint32_t u, Doer doer) {
  RaceState& race = *warp.block->race;
  const RaceReads& reads = race.reads[u][byte / kGranule];
  FaultState& f = warp.thread->fault;
  f.kind = FaultKind::kRace;
  f.lane = lane;
  f.warp = warp.index;
  f.block = warp.block->index;
  f.pc = warp.pc;
  f.address = at;
  f.bytes = f.element = bytes;
  f.write = write;
  f.atomic = atomic;
  f.other_writes = doer == Doer::kWriter;
  uint32_t cell = doer == Doer::kWriter ? race.writer[byte] : race.reader[byte];
  const uint32_t first = reads.run & 0xffffffu, shift = reads.run >> 24;
  if (doer == Doer::kReader && reads.pc != 0 && byte >= first && (byte - first) >> shift < kLanes)
    cell = reads.pc << 10 | (u * kLanes + ((byte - first) >> shift));
  // A later access of another warp may have taken the byte's cell.
  bool known = (cell & 1023) / kLanes == u;
  f.other_thread = known ? cell & 1023 : u * kLanes;
  f.other_pc = known ? cell >> 10 : 0xffffffffu;
  return false;
}

void Fill(uint32_t* cells, uint32_t at, uint32_t bytes, uint32_t pc, const Warp& warp,
          uint32_t lane) {
  uint32_t cell = pc << 10 | (warp.index * kLanes + lane);
  for (uint32_t i = 0; i < bytes; ++i) cells[at + i] = cell;
}

void HandOn(RaceState& race, Warp& warp, uint32_t at) {
  race.has_flags = true;
  RaceClock& flag = race.flags[at];
  flag.Join(race.clock[warp.index]);
  flag.of[warp.index] = race.release[warp.index];
  Release(race, warp);
}
void TakeUp(RaceState& race, const Warp& warp, uint32_t at) {
  if (!race.has_flags) return;
  auto found = race.flags.find(at);
  if (found != race.flags.end()) race.clock[warp.index].Join(found->second);
}

}  // namespace

size_t RaceState::Bytes(uint32_t n_warps, uint32_t shared_bytes) {
  size_t granules = (shared_bytes + kGranule - 1) / kGranule;
  return granules * n_warps * (sizeof(RaceReads) + sizeof(RaceWrites)) +
         granules * sizeof(RaceGranule) + 2 * granules * kGranule * sizeof(uint32_t) + 64;
}

RaceState::RaceState(uint32_t n_warps, uint32_t shared_bytes)
    : granules((shared_bytes + kGranule - 1) / kGranule) {
  // Zero pages: what is never touched takes no memory.
  memory.reset(static_cast<uint8_t*>(std::calloc(Bytes(n_warps, shared_bytes), 1)));
  if (memory == nullptr) throw std::bad_alloc();
  uint8_t* at = memory.get();
  at += (64 - reinterpret_cast<uint64_t>(at) % 64) % 64;
  for (uint32_t n = 0; n < n_warps; ++n, at += granules * sizeof(RaceReads))
    reads[n] = reinterpret_cast<RaceReads*>(at);
  for (uint32_t n = 0; n < n_warps; ++n, at += granules * sizeof(RaceWrites))
    writes[n] = reinterpret_cast<RaceWrites*>(at);
  granule = reinterpret_cast<RaceGranule*>(at);
  at += size_t{granules} * sizeof(RaceGranule);
  writer = reinterpret_cast<uint32_t*>(at);
  reader = writer + size_t{granules} * kGranule;
}

void StartRace(BlockState& block) { RaceBarrier(block, 0, 0, true); }

void RaceBarrier(BlockState& block, uint32_t id, uint32_t waiting, bool whole) {
  RaceState& race = *block.race;
  if (whole) {
    ++race.epoch;
    if (race.partial) {
      for (RaceClock& clock : race.clock) clock = RaceClock{};
      race.flags.clear();
      race.partial = race.has_flags = false;
    }
    race.barrier[id] = RaceClock{};
    race.fenced = 0;
    for (uint32_t n = 0; n < block.n_warps; ++n) {
      race.release[n] = 1;
      Stamp(race, block.warps[n]);
    }
    return;
  }
  RaceClock joined = race.barrier[id];
  race.barrier[id] = RaceClock{};
  for (uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
    uint32_t u = static_cast<uint32_t>(__builtin_ctz(rest));
    joined.Join(race.clock[u]);
    joined.of[u] = race.release[u];
  }
  for (uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
    uint32_t u = static_cast<uint32_t>(__builtin_ctz(rest));
    race.clock[u] = joined;
    Release(race, block.warps[u]);
    ++block.warps[u].race_time;
  }
}

void RaceArrive(Warp& warp, uint32_t id) {
  RaceState& race = *warp.block->race;
  race.barrier[id].Join(race.clock[warp.index]);
  race.barrier[id].of[warp.index] = race.release[warp.index];
  Release(race, warp);
}

bool RaceRead(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, bool strong) {
  RaceState& race = *warp.block->race;
  if (strong) TakeUp(race, warp, at);
  const uint32_t g = at / kGranule, self = warp.index * kLanes + lane;
  RaceGranule& granule = GranuleOf(race, g);
  for (uint32_t rest = granule.writers | granule.strong_writers; rest != 0; rest &= rest - 1) {
    uint32_t u = static_cast<uint32_t>(__builtin_ctz(rest));
    const RaceWrites& writes = race.writes[u][g];
    if (u == warp.index) {
      if (strong || writes.stamp != warp.race_stamp || writes.time != warp.race_time) continue;
      for (uint32_t i = 0; i < bytes; ++i) {
        uint32_t owner = race.writer[at + i] & 1023;
        if (Has(writes.write_now, (at + i) % kGranule) && owner != self && owner / kLanes == u)
          return Race(warp, lane, at, bytes, false, false, at + i, u, Doer::kWriter);
      }
      continue;
    }
    if (!Unordered(race, writes.stamp, u, warp)) continue;
    for (uint32_t i = 0; i < bytes; ++i) {
      uint32_t byte = (at + i) % kGranule;
      if (Has(writes.write, byte) || (!strong && Has(writes.strong_write, byte)))
        return Race(warp, lane, at, bytes, false, false, at + i, u, Doer::kWriter);
    }
  }
  (strong ? granule.strong_readers : granule.readers) |= 1u << warp.index;
  ByteSet& set = strong ? WritesOf(race, warp, g).strong_read : ReadsOf(race, warp, g).read;
  for (uint32_t i = 0; i < bytes; ++i) Put(set, (at + i) % kGranule);
  Fill(race.reader, at, bytes, warp.pc, warp, lane);
  return true;
}

bool RaceWrite(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, const uint8_t* value,
               bool strong, uint32_t pc) {
  RaceState& race = *warp.block->race;
  const uint32_t g = at / kGranule, self = warp.index * kLanes + lane;
  RaceGranule& granule = GranuleOf(race, g);
  RaceWrites& own = WritesOf(race, warp, g);
  const bool atomic = value == nullptr;
  uint32_t benign = 0;  // bytes that keep their value
  auto same = [&](uint32_t i) { return !atomic && value[i] == warp.block->shared[at + i]; };
  uint32_t touched = granule.writers | granule.readers;
  if (!strong) touched |= granule.strong_readers | granule.strong_writers;
  for (uint32_t rest = touched; rest != 0; rest &= rest - 1) {
    uint32_t u = static_cast<uint32_t>(__builtin_ctz(rest));
    if (u == warp.index) {
      if (strong) continue;
      for (uint32_t i = 0; i < bytes; ++i) {
        uint32_t owner = race.writer[at + i] & 1023;
        if (!Has(own.write_now, (at + i) % kGranule) || owner == self || owner / kLanes != u)
          continue;
        if (!same(i)) return Race(warp, lane, at, bytes, true, false, at + i, u, Doer::kWriter);
        benign |= 1u << i;
      }
      continue;
    }
    RaceWrites& writes = race.writes[u][g];
    const RaceReads& reads = race.reads[u][g];
    const bool writes_count = Unordered(race, writes.stamp, u, warp);
    const bool reads_count = Unordered(race, reads.stamp, u, warp);
    for (uint32_t i = 0; i < bytes && (writes_count || reads_count); ++i) {
      uint32_t byte = (at + i) % kGranule;
      bool written =
          writes_count && (Has(writes.write, byte) || (!strong && Has(writes.strong_write, byte)));
      bool read = (reads_count && Has(reads.read, byte)) ||
                  (writes_count && !strong && Has(writes.strong_read, byte));
      if (!written && !read) continue;
      if (!same(i)) {
        return Race(warp, lane, at, bytes, true, atomic, at + i, u,
                    written ? Doer::kWriter : Doer::kReader);
      }
      benign |= 1u << i;
      if (written) Drop(writes.write, byte);
    }
  }
  (strong ? granule.strong_writers : granule.writers) |= 1u << warp.index;
  for (uint32_t i = 0; i < bytes; ++i) {
    uint32_t byte = (at + i) % kGranule;
    if ((benign >> i & 1) != 0) {
      Drop(own.write, byte);
      Drop(own.write_now, byte);
      continue;
    }
    Put(strong ? own.strong_write : own.write, byte);
    if (!strong) Put(own.write_now, byte);
    race.writer[at + i] = pc << 10 | self;
  }
  if (strong && !atomic) HandOn(race, warp, at);
  return true;
}

bool RaceAtomic(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, bool releases) {
  RaceState& race = *warp.block->race;
  TakeUp(race, warp, at);
  if (!RaceWrite(warp, lane, at, bytes, nullptr, true, warp.pc)) return false;
  if (releases || (race.fenced >> warp.index & 1) != 0) HandOn(race, warp, at);
  return true;
}

void RaceAppear(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, uint32_t pc) {
  RaceState& race = *warp.block->race;
  GranuleOf(race, at / kGranule).writers |= 1u << warp.index;
  RaceWrites& own = WritesOf(race, warp, at / kGranule);
  for (uint32_t i = 0; i < bytes; ++i) {
    Put(own.write, (at + i) % kGranule);
    Put(own.write_now, (at + i) % kGranule);
  }
  Fill(race.writer, at, bytes, pc, warp, lane);
}

}  // namespace cudaagent::device::ptx
