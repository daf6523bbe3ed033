// Races in shared memory: two threads of a block touch a byte, one of them writes, and nothing
// orders them. What orders, what counts as benign and what is not seen: docs/cpu_device.md.
//
// Shared memory is cut into granules of 128 bytes. For each warp and granule a record holds which
// bytes the warp read and wrote since its last release (the block's barrier, a named barrier, a
// flag); a granule holds which warps touched it since the block's last barrier, so that the common
// access asks one word and sets one mask. Named barriers and flags order by vector clocks of warps.
// A record that a later release made stale is forgotten: races may be missed then, never invented.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "device/ptx/machine.h"

namespace cudaagent::device::ptx {

inline constexpr uint32_t kGranule = 128;
inline constexpr uint32_t kMaxWarps = 32;
inline constexpr uint32_t kReleaseBits = 24;  // of a stamp; the block's barriers are above them

struct ByteSet {
  uint64_t word[2] = {0, 0};
};

// What a warp read in a granule (weakly), and where its last run of consecutive reads lay.
struct RaceReads {
  uint64_t stamp = 0;  // Warp::race_stamp when it was made
  ByteSet read;
  uint32_t pc = 0;   // of the run; 0: none
  uint32_t run = 0;  // where it began, log2 of its bytes per lane << 24
};

struct RaceWrites {
  uint64_t stamp = 0;
  uint64_t time = 0;  // Warp::race_time of write_now
  ByteSet write;
  ByteSet write_now;  // since the warp's last bar.warp.sync
  ByteSet strong_read, strong_write;
};

struct RaceGranule {
  uint64_t epoch = 0;
  // Warps, in this epoch; strong accesses (volatile, atomic) apart.
  uint32_t readers = 0, writers = 0, strong_readers = 0, strong_writers = 0;
};

struct RaceClock {
  uint32_t of[kMaxWarps] = {};  // of each warp, the last release known
  void Join(const RaceClock& other) {
    for (uint32_t i = 0; i < kMaxWarps; ++i) of[i] = of[i] < other.of[i] ? other.of[i] : of[i];
  }
};

struct RaceState {
  uint64_t epoch = 1;  // grows with each barrier of the whole block, over all blocks
  uint32_t granules = 0;
  RaceReads* reads[kMaxWarps] = {};    // [granule]
  RaceWrites* writes[kMaxWarps] = {};  // [granule]
  RaceGranule* granule = nullptr;
  uint32_t* writer = nullptr;  // of each byte: pc << 10 | thread
  uint32_t* reader = nullptr;  // the same, of reads that are no runs
  uint32_t release[kMaxWarps] = {};
  RaceClock clock[kMaxWarps];
  RaceClock barrier[kBarriers];  // of warps that arrived and went on
  uint32_t fenced = 0;           // warps that executed a fence since their last release
  bool has_flags = false;
  bool partial = false;  // something but the block's barrier has ordered warps
  std::unordered_map<uint32_t, RaceClock> flags;  // what a volatile or atomic word hands on
  std::unique_ptr<uint8_t, void (*)(void*)> memory{nullptr, std::free};

  // Bytes one block's state takes.
  static size_t Bytes(uint32_t n_warps, uint32_t shared_bytes);
  RaceState(uint32_t n_warps, uint32_t shared_bytes);
};

// --- slow paths, built once (race.cpp) ---

// A new block on this memory.
void StartRace(BlockState& block);
// A barrier's release: `waiting` warps wait at it; `whole`: with all threads that are left.
void RaceBarrier(BlockState& block, uint32_t id, uint32_t waiting, bool whole);
// A warp arrives at a barrier and goes on.
void RaceArrive(Warp& warp, uint32_t id);
// One lane's access, checked and recorded. False: a race, the thread's fault was filled. `value` is
// what is about to be written. A strong access is volatile or atomic.
bool RaceRead(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, bool strong);
bool RaceWrite(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, const uint8_t* value,
               bool strong, uint32_t pc);
// An atomic update; `releases` by its own modifiers.
bool RaceAtomic(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, bool releases);
// Notes that a copy's bytes appeared.
void RaceAppear(Warp& warp, uint32_t lane, uint32_t at, uint32_t bytes, uint32_t pc);

}  // namespace cudaagent::device::ptx
