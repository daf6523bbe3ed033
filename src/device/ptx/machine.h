// The state the executor works on: warps, blocks, host threads, one launch. Plain data, shared by
// both builds of the executor (isa/).
#pragma once

#include <atomic>
#include <cstdint>

#include "device/ptx/program.h"

namespace cudaagent::device::ptx {

// Brings a region of another device's memory to the host piece by piece (mirror.h).
class PageSource {
 public:
  virtual ~PageSource() = default;
  // Makes these bytes of the region present, offsets from its begin. Thread-safe. False: they
  // cannot be had.
  virtual bool Fetch(uint64_t offset, uint64_t bytes) = 0;
};

// Memory a kernel may touch: regions of the plan and the module's variables.
struct Allocation {
  uint64_t begin = 0, end = 0;
  const char* name = "";
  bool writable = false;
  bool* touched = nullptr;  // set when a launch accesses it
  uint8_t* written =
      nullptr;         // one byte per byte, 1 = written, 0 = never; null: all is initialised
  uint64_t shift = 0;  // host address less the kernel's, modulo 2^64; 0 on the CPU device
  PageSource* pages = nullptr;  // null: all is present
};

enum class FaultKind : uint8_t {
  kNone,
  kBounds,
  kReadOnly,
  kMisaligned,
  kUninitialised,
  kSharedBounds,
  kSharedUninitialised,
  kLocalBounds,
  kParamBounds,
  kTrap,
  kAssert,
  kDeadlock,
  kBudget,
  kSync,
  kBarrierId,
  kPartialWarp,
  kInFlight,
  kRace,
  kDivergentBarrier,
  kNotFetched,  // a PageSource could not give what was touched
};

struct FaultState {
  FaultKind kind = FaultKind::kNone;
  bool write = false;
  bool atomic = false;
  uint32_t pc = 0;
  uint32_t lane = 0;
  uint32_t warp = 0;
  uint64_t block = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;    // of the whole access of one lane
  uint32_t element = 0;  // of one element of it
  // The other thread of a kInFlight, kRace or kDivergentBarrier, and where it was.
  uint32_t other_thread = 0, other_pc = 0;
  bool other_writes = false;
  char text[1600] = {};
};

struct Counters {
  uint64_t by_class[kClasses] = {};
  uint64_t lanes = 0;  // active lanes, summed over instructions
  uint64_t requests = 0, sectors = 0, bytes = 0;
  uint64_t shared_requests = 0, wavefronts = 0;
  uint64_t atomics = 0;
};

struct LaunchState;
struct BlockState;
struct AsyncQueue;  // async.h
struct RaceState;   // race.h

// One host thread at work on a launch.
struct ThreadState {
  LaunchState* launch = nullptr;
  const Allocation* last = nullptr;  // cache of the last allocation hit that has no pages
  bool not_fetched = false;          // a PageSource has failed
  Counters counters;
  FaultState fault;
};

struct Group {
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint64_t ran = 0;  // when it last ran: fairness between groups
};

enum class Wait : uint8_t {
  kSame,     // lanes of `need`, at this very instruction (shfl, vote, ...)
  kWarp,     // lanes of `need`, at any bar.warp.sync
  kBarrier,  // a barrier of the block
};

struct Parked {
  uint32_t pc = 0;
  uint32_t mask = 0;
  uint32_t need = 0;  // lanes a warp-wide instruction waits for
  Wait wait = Wait::kSame;
  uint32_t barrier = 0;
};

struct Warp {
  uint8_t* base[2] = {nullptr, nullptr};  // registers, literals
  uint32_t pc = 0, mask = 0;              // the running group; mask 0 = none
  uint32_t stop_pc = 0xffffffffu;         // lowest pc of the other ready groups
  uint32_t alive = 0;
  int64_t quantum = 0;  // instructions left before others get their turn
  int64_t quantum_start = 0;
  ThreadState* thread = nullptr;
  BlockState* block = nullptr;
  uint8_t* local = nullptr;  // Kernel::local_total bytes per lane
  uint32_t index = 0;
  uint32_t lanes = 0;  // lanes that exist
  AsyncQueue* async = nullptr;
  uint64_t race_stamp = 0;  // the block's barriers and the warp's own releases so far (race.h)
  uint32_t race_time = 0;   // grows with each bar.warp.sync and warp-wide instruction
  int n_ready = 0, n_parked = 0;
  Group ready[kLanes];
  Parked parked[kLanes];
};

inline constexpr int kBarriers = 16;
struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // 0: all threads of the block that have not exited
  uint32_t votes = 0;     // bar.red: threads whose predicate was true
  uint32_t voters = 0;    // bar.red: threads that voted
};

struct BlockState {
  Warp* warps = nullptr;
  uint32_t n_warps = 0;
  uint32_t live_threads = 0;
  uint64_t index = 0;
  uint32_t x = 0, y = 0, z = 0;
  uint8_t* shared = nullptr;
  uint8_t* shared_written = nullptr;  // one byte per byte: 0 never written, 1 written, 2 in flight
  uint32_t shared_unwritten = 0;      // how many are not 1
  uint32_t in_flight = 0;             // how many are 2: a cp.async has not been waited for
  RaceState* race = nullptr;          // null: races are not looked for
  // Set where a barrier's release finds threads at different lines: two of them and where they
  // wait.
  bool divergent = false;
  uint32_t divergent_thread[2] = {0, 0}, divergent_pc[2] = {0, 0};
  Barrier barriers[kBarriers];
  uint64_t clock = 0;  // warp instructions of finished quanta
};

struct LaunchState {
  const Kernel* kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1}, ntid[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  uint32_t dynamic_shared = 0;
  const uint8_t* params = nullptr;
  uint32_t param_bytes = 0;
  const Allocation* table = nullptr;  // ascending, disjoint
  size_t table_size = 0;
  uint32_t sms = 1;
  uint64_t env[3] = {0, 0, 0};  // %envreg1/2 of a cooperative launch, launch number
  void (*print)(LaunchState&, const char* text) = nullptr;  // printf, thread safe
  void* print_to = nullptr;
  std::atomic<uint64_t> budget_used{0};  // thread instructions
  uint64_t budget = 0;
  std::atomic<uint64_t> first_fault{~uint64_t{0}};  // lowest faulting block
};

// --- out of line, built once (memory.cpp) ---

// The allocation that holds [address, address + bytes), its pages there; null where there is none,
// or with `not_fetched` set.
const Allocation* FindAllocation(ThreadState& thread, uint64_t address, uint64_t bytes);
// Number of distinct 32-byte sectors touched by the lanes in `mask`.
uint32_t CountSectors(const uint64_t* address, uint32_t bytes, uint32_t mask);
// Wavefronts of a shared-memory request: the most distinct 4-byte words any bank must deliver.
uint32_t CountWavefronts(const uint32_t* address, uint32_t bytes, uint32_t mask);

// --- scheduling of groups and barriers, built once (schedule.cpp) ---

// Puts the running group back and takes the lowest pc. False: nothing is ready in this warp.
bool PickGroup(Warp& warp);
// Puts the running group back and takes the one that has waited longest.
void RotateGroup(Warp& warp);
void PushReady(Warp& warp, uint32_t pc, uint32_t mask);
// The lanes in `mask` have returned or exited.
void ExitLanes(Warp& warp, uint32_t mask);
// Parks `mask` at barrier `id`, or only counts it where `wait` is false; releases all when `count`
// threads (0 = all live ones) have arrived.
void ArriveBarrier(Warp& warp, uint32_t id, uint32_t count, uint32_t mask, bool wait);
// For an instruction that needs the lanes of `need` together: true where those alive are in `mask`
// or parked here (*all is then the union, taken out of parking); else parks `mask`.
bool GatherLanes(Warp& warp, uint32_t need, uint32_t mask, uint32_t* all);
// The same for bar.warp.sync, whose lanes may wait at different instructions.
bool GatherWarp(Warp& warp, uint32_t need, uint32_t mask);

// --- asynchronous copies, built once (async.cpp) ---

// A copy to `bytes` of shared memory at `to`, which the caller has checked; its data appear when
// the lane waits for it. False: another copy to one of these bytes is still in flight.
bool IssueCopy(Warp& warp, uint32_t lane, uint32_t to, uint32_t bytes, const uint8_t* data);
void CommitCopies(Warp& warp, uint32_t mask);
// Finishes the lanes' copies but those of the `keep` groups committed last; `all`: those not
// committed, too.
void FinishCopies(Warp& warp, uint32_t mask, uint32_t keep, bool all);
// The copy in flight to a byte of shared memory: fills who and where of a kInFlight fault.
void NameCopy(const BlockState& block, uint32_t at, FaultState& fault);

// Formats device printf into the launch's log (printf.cpp). Returns what vprintf returns.
int DevicePrintf(Warp& warp, uint32_t lane, uint64_t format, uint64_t arguments);
// Reads a C string that device code names; stops at 1024 bytes or memory it may not read.
void ReadString(Warp& warp, uint32_t lane, uint64_t address, char* out, size_t size);
// A byte at a generic address, -1 where the lane may not read it.
int ReadByte(Warp& warp, uint32_t lane, uint64_t address);

}  // namespace cudaagent::device::ptx
