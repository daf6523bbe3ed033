// The quick ways through race.h: full warps on consecutive bytes, and lanes in granules nobody else
// has touched. What they cannot decide goes to race.cpp.
#pragma once

#include "device/ptx/isa/lanes.h"
#include "device/ptx/race.h"

namespace cudaagent::device::ptx::PTX_ISA {

inline RaceGranule& GranuleAt(RaceState& race, uint32_t g) {
  RaceGranule& granule = race.granule[g];
  if (__builtin_expect(granule.epoch != race.epoch, 0)) {
    granule.epoch = race.epoch;
    granule.readers = granule.writers = granule.strong_readers = granule.strong_writers = 0;
  }
  return granule;
}

inline uint32_t TouchedBy(const RaceGranule& granule) {
  return granule.readers | granule.writers | granule.strong_readers | granule.strong_writers;
}

inline RaceReads& ReadsAt(RaceState& race, const Warp& w, uint32_t g) {
  RaceReads& reads = race.reads[w.index][g];
  if (reads.stamp != w.race_stamp) {
    reads.stamp = w.race_stamp;
    reads.read.word[0] = reads.read.word[1] = 0;
    reads.pc = 0;
  }
  return reads;
}
inline RaceWrites& WritesAt(RaceState& race, const Warp& w, uint32_t g) {
  RaceWrites& writes = race.writes[w.index][g];
  if (writes.stamp != w.race_stamp) {
    writes = RaceWrites{};
    writes.stamp = w.race_stamp;
    writes.time = w.race_time;
  } else if (writes.time != w.race_time) {
    writes.time = w.race_time;
    writes.write_now.word[0] = writes.write_now.word[1] = 0;
  }
  return writes;
}

// Bytes [from, to) of a granule.
inline ByteSet BytesOf(uint32_t from, uint32_t to) {
  ByteSet set;
  uint64_t below_from = from < 64 ? (uint64_t{1} << from) - 1 : ~uint64_t{0};
  uint64_t below_to = to < 64 ? (uint64_t{1} << to) - 1 : ~uint64_t{0};
  set.word[0] = below_to & ~below_from;
  below_from = from > 64 ? (uint64_t{1} << (from - 64)) - 1 : 0;
  below_to = to == 128 ? ~uint64_t{0} : to > 64 ? (uint64_t{1} << (to - 64)) - 1 : 0;
  set.word[1] = below_to & ~below_from;
  return set;
}

// Whether an access of these bytes meets another warp's in this epoch, or the warp's own writes
// since its last bar.warp.sync: then race.cpp decides. Named barriers and flags are not asked here.
inline bool Meets(const ByteSet& a, const ByteSet& b) {
  return ((a.word[0] & b.word[0]) | (a.word[1] & b.word[1])) != 0;
}
template <bool kWrite>
inline bool Clashes(RaceState& race, const Warp& w, const RaceGranule& granule, uint32_t g,
                    const ByteSet& set) {
  uint32_t touched = granule.writers | granule.strong_writers;
  if (kWrite) touched |= granule.readers | granule.strong_readers;
  for (; touched != 0; touched &= touched - 1) {
    uint32_t u = static_cast<uint32_t>(__builtin_ctz(touched));
    const RaceWrites& writes = race.writes[u][g];
    if (u == w.index) {
      if (writes.stamp == w.race_stamp && writes.time == w.race_time &&
          Meets(writes.write_now, set)) {
        return true;
      }
      continue;
    }
    if (writes.stamp >> kReleaseBits == race.epoch &&
        (Meets(writes.write, set) || Meets(writes.strong_write, set) ||
         (kWrite && Meets(writes.strong_read, set)))) {
      return true;
    }
    if (kWrite) {
      const RaceReads& reads = race.reads[u][g];
      if (reads.stamp >> kReleaseBits == race.epoch && Meets(reads.read, set)) return true;
    }
  }
  return false;
}

[[gnu::always_inline]] inline bool NoteRead(RaceState& race, Warp& w, uint32_t g,
                                            const ByteSet& set, uint32_t run) {
  RaceGranule& granule = GranuleAt(race, g);
  if (__builtin_expect((granule.writers | granule.strong_writers) != 0, 0) &&
      Clashes<false>(race, w, granule, g, set)) {
    return false;
  }
  granule.readers |= 1u << w.index;
  RaceReads& reads = ReadsAt(race, w, g);
  reads.read.word[0] |= set.word[0];
  reads.read.word[1] |= set.word[1];
  reads.run = run;
  reads.pc = w.pc;
  return true;
}

// A read of [first, first + kSpan): kBytes per lane, or the same kBytes by all. False: ask lane by
// lane.
template <uint32_t kBytes, uint32_t kSpan>
inline bool RunRead(RaceState& race, Warp& w, uint32_t first) {
  const uint32_t run = first | static_cast<uint32_t>(__builtin_ctz(kBytes)) << 24;
  uint32_t g = first / kGranule;
  ByteSet set;
  if constexpr (kSpan <= 32) {  // aligned: inside one word
    set.word[first >> 6 & 1] = ((uint64_t{1} << kSpan) - 1) << (first & 63);
    return NoteRead(race, w, g, set, run);
  }
  const uint32_t end = first + kSpan;
  if (kSpan % kGranule == 0 && first % kGranule == 0) {
    set.word[0] = set.word[1] = ~uint64_t{0};
    for (uint32_t i = 0; i < kSpan / kGranule; ++i) {
      if (!NoteRead(race, w, g + i, set, run)) return false;
    }
    return true;
  }
  const uint32_t last = (end - 1) / kGranule;
  for (; g <= last; ++g) {
    const uint32_t base = g * kGranule;
    set = BytesOf(first > base ? first - base : 0, end < base + kGranule ? end - base : kGranule);
    if (!NoteRead(race, w, g, set, run)) return false;
  }
  return true;
}

// A write of consecutive bytes by a full warp. False: ask lane by lane.
template <uint32_t kBytes>
inline bool RunWrite(RaceState& race, Warp& w, uint32_t first) {
  const uint32_t end = first + kBytes * kLanes, last = (end - 1) / kGranule;
  auto bytes_of = [&](uint32_t g) {
    const uint32_t base = g * kGranule;
    return BytesOf(first > base ? first - base : 0, end < base + kGranule ? end - base : kGranule);
  };
  for (uint32_t g = first / kGranule; g <= last; ++g) {
    RaceGranule& granule = GranuleAt(race, g);
    if (TouchedBy(granule) != 0 && Clashes<true>(race, w, granule, g, bytes_of(g))) return false;
  }
  for (uint32_t g = first / kGranule; g <= last; ++g) {
    race.granule[g].writers |= 1u << w.index;
    RaceWrites& writes = WritesAt(race, w, g);
    ByteSet set = bytes_of(g);
    for (int i = 0; i < 2; ++i) {
      writes.write.word[i] |= set.word[i];
      writes.write_now.word[i] |= set.word[i];
    }
  }
  uint32_t cell = w.pc << 10 | w.index * kLanes;
  uint32_t* writer = race.writer + first;
  for (uint32_t i = 0; i < kBytes * kLanes; ++i) writer[i] = cell + i / kBytes;
  return true;
}

// One lane's accesses; `bytes` a power of two, aligned, at most 32.
inline uint64_t LaneBytes(uint32_t at, uint32_t bytes) {
  return ((uint64_t{1} << bytes) - 1) << (at & 63);
}
inline void SetCells(uint32_t* cells, uint32_t bytes, uint32_t cell) {
  uint64_t two = uint64_t{cell} << 32 | cell;
  if (bytes == 4) {
    std::memcpy(cells, &two, 8);
    std::memcpy(cells + 2, &two, 8);
    return;
  }
  for (uint32_t i = 0; i < bytes; ++i) cells[i] = cell;
}
inline bool LaneRead(RaceState& race, Warp& w, uint32_t lane, uint32_t at, uint32_t bytes,
                     bool strong) {
  const uint32_t g = at / kGranule;
  RaceGranule& granule = GranuleAt(race, g);
  if (strong) return RaceRead(w, lane, at, bytes, strong);
  const uint64_t set = LaneBytes(at, bytes);
  if ((granule.writers | granule.strong_writers) != 0) {
    ByteSet both;
    both.word[at >> 6 & 1] = set;
    if (Clashes<false>(race, w, granule, g, both)) return RaceRead(w, lane, at, bytes, strong);
  }
  granule.readers |= 1u << w.index;
  RaceReads& reads = ReadsAt(race, w, g);
  reads.read.word[at >> 6 & 1] |= set;
  reads.pc = 0;
  SetCells(race.reader + at, bytes, w.pc << 10 | (w.index * kLanes + lane));
  return true;
}
inline bool LaneWrite(RaceState& race, Warp& w, uint32_t lane, uint32_t at, uint32_t bytes,
                      const void* value, bool strong) {
  const uint32_t g = at / kGranule;
  RaceGranule& granule = GranuleAt(race, g);
  const uint64_t set = LaneBytes(at, bytes);
  const uint32_t half = at >> 6 & 1;
  bool ask = strong;
  if (!ask && TouchedBy(granule) != 0) {
    ByteSet both;
    both.word[half] = set;
    ask = Clashes<true>(race, w, granule, g, both);
  }
  if (ask) return RaceWrite(w, lane, at, bytes, static_cast<const uint8_t*>(value), strong, w.pc);
  RaceWrites& writes = WritesAt(race, w, g);
  granule.writers |= 1u << w.index;
  writes.write.word[half] |= set;
  writes.write_now.word[half] |= set;
  SetCells(race.writer + at, bytes, w.pc << 10 | (w.index * kLanes + lane));
  return true;
}
inline bool LaneAtomic(RaceState& race, Warp& w, uint32_t lane, uint32_t at, uint32_t bytes,
                       bool releases) {
  const uint32_t g = at / kGranule;
  RaceGranule& granule = GranuleAt(race, g);
  if (releases || race.has_flags || race.fenced != 0 ||
      ((granule.readers | granule.writers) & ~(1u << w.index)) != 0)
    return RaceAtomic(w, lane, at, bytes, releases);
  granule.strong_writers |= 1u << w.index;
  WritesAt(race, w, g).strong_write.word[at >> 6 & 1] |= LaneBytes(at, bytes);
  SetCells(race.writer + at, bytes, w.pc << 10 | (w.index * kLanes + lane));
  return true;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
