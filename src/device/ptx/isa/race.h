// The quick ways through race.h: full warps on consecutive bytes, and lanes in granules nobody else
// has touched. What they cannot decide goes to race.cpp.
#pragma once

#include "device/ptx/isa/lanes.h"
#include "device/ptx/race.h"

namespace cudaagent::device::ptx::PTX_ISA {

inline RaceGranule& GranuleAt(RaceState& race, uint32_t g) {
  RaceGranule& granule = race.granule[g];
  if (granule.epoch != race.epoch) {
    granule.epoch = race.epoch;
    granule.readers = granule.writers = 0;
  }
  return granule;
}

inline RaceRecord& RecordAt(RaceState& race, const Warp& w, uint32_t g) {
  RaceRecord& record = race.records[size_t{w.index} * race.granules + g];
  if (record.stamp != w.race_stamp) {
    record = RaceRecord{};
    record.stamp = w.race_stamp;
    record.time = w.race_time;
  } else if (record.time != w.race_time) {
    record.time = w.race_time;
    record.write_now.word[0] = record.write_now.word[1] = 0;
  }
  return record;
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

// A read of [first, first + span), `kBytes` per lane or by all lanes. False: ask lane by lane.
template <uint32_t kBytes>
inline bool RunRead(RaceState& race, Warp& w, uint32_t first, uint32_t span) {
  const uint32_t end = first + span;
  const uint32_t last = (end - 1) / kGranule;
  for (uint32_t g = first / kGranule; g <= last; ++g) {
    if (GranuleAt(race, g).writers != 0) return false;
  }
  for (uint32_t g = first / kGranule; g <= last; ++g) {
    race.granule[g].readers |= 1u << w.index;
    RaceRecord& record = RecordAt(race, w, g);
    uint32_t base = g * kGranule;
    ByteSet set =
        BytesOf(first > base ? first - base : 0, end < base + kGranule ? end - base : kGranule);
    record.read.word[0] |= set.word[0];
    record.read.word[1] |= set.word[1];
    record.run_first = first;
    record.run_shift = __builtin_ctz(kBytes);
    record.read_pc = w.pc;
  }
  return true;
}

// A write of consecutive bytes by a full warp. False: ask lane by lane.
template <uint32_t kBytes>
inline bool RunWrite(RaceState& race, Warp& w, uint32_t first) {
  const uint32_t end = first + kBytes * kLanes, others = ~(1u << w.index);
  const uint32_t last = (end - 1) / kGranule;
  for (uint32_t g = first / kGranule; g <= last; ++g) {
    RaceGranule& granule = GranuleAt(race, g);
    if (((granule.writers | granule.readers) & others) != 0) return false;
    if (granule.writers == 0) continue;
    RaceRecord& record = RecordAt(race, w, g);
    uint32_t base = g * kGranule;
    ByteSet set =
        BytesOf(first > base ? first - base : 0, end < base + kGranule ? end - base : kGranule);
    if (((record.write_now.word[0] & set.word[0]) | (record.write_now.word[1] & set.word[1])) != 0)
      return false;
  }
  for (uint32_t g = first / kGranule; g <= last; ++g) {
    race.granule[g].writers |= 1u << w.index;
    RaceRecord& record = RecordAt(race, w, g);
    uint32_t base = g * kGranule;
    ByteSet set =
        BytesOf(first > base ? first - base : 0, end < base + kGranule ? end - base : kGranule);
    for (int i = 0; i < 2; ++i) {
      record.write.word[i] |= set.word[i];
      record.write_now.word[i] |= set.word[i];
    }
  }
  uint32_t cell = w.pc << 10 | w.index * kLanes;
  uint32_t* writer = race.writer + first;
  for (uint32_t i = 0; i < kBytes * kLanes; ++i) writer[i] = cell + i / kBytes;
  return true;
}

// One lane's weak read or write; `bytes` a power of two, aligned.
inline uint64_t LaneBytes(uint32_t at, uint32_t bytes) {
  return (bytes == 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1) << (at & 63);
}
inline bool LaneRead(RaceState& race, Warp& w, uint32_t lane, uint32_t at, uint32_t bytes,
                     bool strong) {
  const uint32_t g = at / kGranule;
  RaceGranule& granule = GranuleAt(race, g);
  if (strong || granule.writers != 0) return RaceRead(w, lane, at, bytes, strong);
  granule.readers |= 1u << w.index;
  RaceRecord& record = RecordAt(race, w, g);
  record.read.word[at >> 6 & 1] |= LaneBytes(at, bytes);
  record.read_pc = 0;
  uint32_t cell = w.pc << 10 | (w.index * kLanes + lane);
  for (uint32_t i = 0; i < bytes; ++i) race.reader[at + i] = cell;
  return true;
}
inline bool LaneWrite(RaceState& race, Warp& w, uint32_t lane, uint32_t at, uint32_t bytes,
                      const void* value, bool strong) {
  const uint32_t g = at / kGranule;
  RaceGranule& granule = GranuleAt(race, g);
  if (strong || ((granule.writers | granule.readers) & ~(1u << w.index)) != 0)
    return RaceWrite(w, lane, at, bytes, static_cast<const uint8_t*>(value), strong, w.pc);
  RaceRecord& record = RecordAt(race, w, g);
  uint64_t set = LaneBytes(at, bytes);
  const uint32_t half = at >> 6 & 1;
  if ((record.write_now.word[half] & set) != 0)
    return RaceWrite(w, lane, at, bytes, static_cast<const uint8_t*>(value), strong, w.pc);
  granule.writers |= 1u << w.index;
  record.write.word[half] |= set;
  record.write_now.word[half] |= set;
  uint32_t cell = w.pc << 10 | (w.index * kLanes + lane);
  for (uint32_t i = 0; i < bytes; ++i) race.writer[at + i] = cell;
  return true;
}

}  // namespace cudaagent::device::ptx::PTX_ISA
