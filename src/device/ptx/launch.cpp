#include "device/ptx/launch.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "device/ptx/async.h"
#include "device/ptx/faults.h"
#include "device/ptx/race.h"

namespace cudaagent::device::ptx {
namespace {

constexpr int64_t kQuantum = 1 << 16;  // warp instructions before other warps get their turn
constexpr int kPatience = 64;          // rounds over a block's warps before another block may start
constexpr size_t kMaxLiveBlocks = 512;  // per host thread
constexpr size_t kMaxLiveBytes = size_t{1} << 30;

// The memory of one block in flight, reused from block to block.
struct BlockMemory {
  std::unique_ptr<uint8_t[]> raw;
  std::unique_ptr<Warp[]> warps;
  std::vector<AsyncQueue> async;  // one per warp
  std::unique_ptr<RaceState> race;
  uint8_t* registers = nullptr;
  uint8_t* local = nullptr;
  BlockState state;
};

uint8_t* Align64(uint8_t* p) {
  uint64_t at = reinterpret_cast<uint64_t>(p);
  return p + ((64 - at % 64) % 64);
}

struct Shared {
  const LaunchRequest* request;
  LaunchState* launch;
  uint64_t blocks;
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  LaunchOutcome outcome;
  FaultState fault;
  std::atomic<bool> stop{false};  // start no further block
};

uint32_t SpecialValue(Special what, const LaunchState& launch, const BlockState& block,
                      uint32_t warp, uint32_t lane) {
  uint32_t thread = warp * kLanes + lane;
  switch (what) {
    case Special::kTidX:
      return thread % launch.ntid[0];
    case Special::kTidY:
      return thread / launch.ntid[0] % launch.ntid[1];
    case Special::kTidZ:
      return thread / (launch.ntid[0] * launch.ntid[1]);
    case Special::kNtidX:
      return launch.ntid[0];
    case Special::kNtidY:
      return launch.ntid[1];
    case Special::kNtidZ:
      return launch.ntid[2];
    case Special::kCtaidX:
      return block.x;
    case Special::kCtaidY:
      return block.y;
    case Special::kCtaidZ:
      return block.z;
    case Special::kNctaidX:
      return launch.grid[0];
    case Special::kNctaidY:
      return launch.grid[1];
    case Special::kNctaidZ:
      return launch.grid[2];
    case Special::kLaneId:
      return lane;
    case Special::kWarpId:
      return warp;
    case Special::kNwarpId:
      return 64;
    case Special::kSmId:
      return static_cast<uint32_t>(block.index % launch.sms);
    case Special::kNsmId:
      return launch.sms;
    case Special::kLaneMaskEq:
      return 1u << lane;
    case Special::kLaneMaskLt:
      return (1u << lane) - 1;
    case Special::kLaneMaskLe:
      return (2u << lane) - 1;
    case Special::kLaneMaskGt:
      return ~((2u << lane) - 1);
    case Special::kLaneMaskGe:
      return ~((1u << lane) - 1);
    case Special::kDynamicShared:
      return launch.dynamic_shared;
    case Special::kTotalShared:
      return launch.shared_bytes;
    case Special::kZero:
      return 0;
    case Special::kOne:
      return 1;
    case Special::kEnvReg1:
      return static_cast<uint32_t>(launch.env[1]);
    case Special::kEnvReg2:
      return static_cast<uint32_t>(launch.env[2]);
    case Special::kGridId:
      return static_cast<uint32_t>(launch.env[0]);
  }
  return 0;
}

class BlockRunner {
 public:
  explicit BlockRunner(Shared& shared)
      : shared_(shared), launch_(*shared.launch), kernel_(*launch_.kernel) {
    thread_.launch = &launch_;
    n_warps_ = (launch_.ntid[0] * launch_.ntid[1] * launch_.ntid[2] + kLanes - 1) / kLanes;
    local_bytes_ = static_cast<size_t>(kernel_.local_total) * kLanes * n_warps_;
    register_bytes_ = static_cast<size_t>(kernel_.register_bytes) * n_warps_;
    raw_bytes_ = block_bytes_ =
        register_bytes_ + local_bytes_ + 2 * static_cast<size_t>(launch_.shared_bytes) + 256;
    if (shared_.request->races && launch_.shared_bytes != 0) {
      size_t bytes = RaceState::Bytes(n_warps_, launch_.shared_bytes);
      // Blocks of a cooperative launch are all in flight.
      uint64_t blocks = shared_.request->cooperative ? shared_.blocks : 1;
      races_ = bytes * blocks <= kMaxLiveBytes;
      if (races_) block_bytes_ += bytes;
    }
    max_live_ = std::max<size_t>(1, std::min(kMaxLiveBlocks, kMaxLiveBytes / block_bytes_));
    if (shared_.request->cooperative) max_live_ = ~size_t{0};
  }

  void Run() {
    std::deque<BlockMemory*> live;
    bool more = true;
    while (more || !live.empty()) {
      BlockMemory* memory = nullptr;
      if (more && live.size() < max_live_) {
        uint64_t index = shared_.next.fetch_add(1);
        const std::vector<uint64_t>* chosen = shared_.request->chosen;
        if (chosen != nullptr) index = index < chosen->size() ? (*chosen)[index] : shared_.blocks;
        if (index >= shared_.blocks || index > launch_.first_fault.load() || shared_.stop.load()) {
          more = false;
          continue;
        }
        memory = Free();
        Start(*memory, index);
      } else {
        memory = live.front();
        live.pop_front();
      }
      switch (RunBlock(*memory)) {
        case State::kEnded:
          ++ended_;
          free_.push_back(memory);
          break;
        case State::kDropped:
          free_.push_back(memory);
          break;
        case State::kYielded:
          if (shared_.request->chosen != nullptr) {
            waits_ = true;
            shared_.stop.store(true);
            free_.push_back(memory);
          } else {
            live.push_back(memory);
          }
          break;
        case State::kFaulted:
          free_.push_back(memory);
          if (shared_.request->cooperative) live.clear();
          break;
      }
    }
    std::lock_guard<std::mutex> lock(shared_.mutex);
    LaunchOutcome& outcome = shared_.outcome;
    Add(outcome.counters, thread_.counters);
    outcome.ended += ended_;
    outcome.waits |= waits_;
    outcome.spent |= spent_;
    outcome.races = races_;
  }

  static void Add(Counters& to, const Counters& from) {
    for (int i = 0; i < kClasses; ++i) to.by_class[i] += from.by_class[i];
    to.lanes += from.lanes;
    to.requests += from.requests;
    to.sectors += from.sectors;
    to.bytes += from.bytes;
    to.shared_requests += from.shared_requests;
    to.wavefronts += from.wavefronts;
    to.atomics += from.atomics;
  }

 private:
  enum class State { kEnded, kYielded, kFaulted, kDropped };

  BlockMemory* Free() {
    if (!free_.empty()) {
      BlockMemory* memory = free_.back();
      free_.pop_back();
      return memory;
    }
    auto memory = std::make_unique<BlockMemory>();
    memory->raw = std::make_unique<uint8_t[]>(raw_bytes_);
    memory->warps = std::make_unique<Warp[]>(n_warps_);
    memory->async.resize(n_warps_);
    if (races_) memory->race = std::make_unique<RaceState>(n_warps_, launch_.shared_bytes);
    memory->registers = Align64(memory->raw.get());
    memory->local = memory->registers + register_bytes_;
    memory->state.shared = Align64(memory->local + local_bytes_);
    memory->state.shared_written = memory->state.shared + launch_.shared_bytes;
    all_.push_back(std::move(memory));
    return all_.back().get();
  }

  void Start(BlockMemory& memory, uint64_t index) {
    BlockState& block = memory.state;
    uint64_t gx = launch_.grid[0], gy = launch_.grid[1];
    block.index = index;
    block.x = static_cast<uint32_t>(index % gx);
    block.y = static_cast<uint32_t>(index / gx % gy);
    block.z = static_cast<uint32_t>(index / (gx * gy));
    block.warps = memory.warps.get();
    block.n_warps = n_warps_;
    block.live_threads = launch_.ntid[0] * launch_.ntid[1] * launch_.ntid[2];
    block.clock = 0;
    block.divergent = false;
    for (Barrier& barrier : block.barriers) barrier = Barrier{};
    // 0xff bytes: NaN where somebody reads what nobody wrote.
    std::memset(block.shared, 0xff, launch_.shared_bytes);
    std::memset(block.shared_written, 0, launch_.shared_bytes);
    block.shared_unwritten = launch_.shared_bytes;
    block.in_flight = 0;
    block.race = memory.race.get();
    if (block.race != nullptr) StartRace(block);
    for (uint32_t n = 0; n < n_warps_; ++n) {
      Warp& warp = memory.warps[n];
      warp.base[0] = memory.registers + static_cast<size_t>(n) * kernel_.register_bytes;
      warp.base[1] = const_cast<uint8_t*>(kernel_.literals.data());
      uint32_t left = block.live_threads - n * kLanes;
      warp.lanes = left >= kLanes ? kAllLanes : (1u << left) - 1;
      warp.alive = warp.lanes;
      warp.pc = 0;
      warp.mask = warp.lanes;
      warp.stop_pc = 0xffffffffu;
      warp.thread = &thread_;
      warp.block = &block;
      warp.local = memory.local + static_cast<size_t>(n) * kernel_.local_total * kLanes;
      warp.index = n;
      warp.async = &memory.async[n];
      warp.async->Clear();
      warp.n_ready = warp.n_parked = 0;
      for (const SpecialSlot& slot : kernel_.specials) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          uint64_t value = SpecialValue(slot.what, launch_, block, n, l);
          std::memcpy(warp.base[0] + slot.offset + l * slot.bytes, &value, slot.bytes);
        }
      }
    }
  }

  State RunBlock(BlockMemory& memory) {
    BlockState& block = memory.state;
    int patience = shared_.request->cooperative ? 1 : kPatience;
    for (;;) {
      bool ran = false, out_of_time = false;
      for (uint32_t n = 0; n < n_warps_; ++n) {
        Warp& warp = memory.warps[n];
        if (warp.alive == 0 || (warp.mask == 0 && warp.n_ready == 0)) continue;
        ran = true;
        warp.quantum = warp.quantum_start = kQuantum;
        uint64_t before = thread_.counters.lanes;
        Executor::Outcome outcome = shared_.request->executor->run_warp(warp);
        block.clock +=
            static_cast<uint64_t>(std::max<int64_t>(0, warp.quantum_start - warp.quantum));
        if (block.divergent) return Diverged(block);
        if (outcome == Executor::Outcome::kFault) return Faulted();
        if (!Spend(thread_.counters.lanes - before, warp)) {
          if (shared_.request->chosen == nullptr) return Faulted();
          thread_.fault = FaultState{};
          spent_ = true;
          shared_.stop.store(true);
          return State::kDropped;
        }
        if (outcome == Executor::Outcome::kQuantum) {
          out_of_time = true;
          RotateGroup(warp);
        }
      }
      if (block.live_threads == 0) return State::kEnded;
      if (!ran) return Deadlock(block);
      uint64_t fault = launch_.first_fault.load(std::memory_order_relaxed);
      // A cooperative launch's blocks may wait for the faulting one: all stop.
      if (fault < block.index || (shared_.request->cooperative && fault != ~uint64_t{0})) {
        return State::kDropped;
      }
      if (out_of_time && --patience <= 0) return State::kYielded;
    }
  }

  bool Spend(uint64_t lanes, const Warp& warp) {
    unspent_ += lanes;
    if (unspent_ < 1'000'000 && unspent_ < launch_.budget / 64) return true;
    uint64_t used = launch_.budget_used.fetch_add(unspent_) + unspent_;
    unspent_ = 0;
    if (used <= launch_.budget) return true;
    FaultState& fault = thread_.fault;
    fault.kind = FaultKind::kBudget;
    fault.block = warp.block->index;
    uint32_t line =
        warp.mask != 0 && warp.pc < kernel_.code.size() ? kernel_.code[warp.pc].line : 0;
    std::string where = line == 0 ? "" : "; it was at line " + std::to_string(line);
    std::snprintf(fault.text, sizeof(fault.text), "%s", where.c_str());
    return false;
  }

  State Faulted() {
    std::lock_guard<std::mutex> lock(shared_.mutex);
    if (shared_.fault.kind == FaultKind::kNone || thread_.fault.block < shared_.fault.block) {
      shared_.fault = thread_.fault;
      launch_.first_fault.store(thread_.fault.block);
    }
    thread_.fault = FaultState{};
    return State::kFaulted;
  }

  State Diverged(const BlockState& block) {
    FaultState& fault = thread_.fault;
    fault = FaultState{};
    fault.kind = FaultKind::kDivergentBarrier;
    fault.block = block.index;
    fault.warp = block.divergent_thread[0] / kLanes;
    fault.lane = block.divergent_thread[0] % kLanes;
    fault.pc = block.divergent_pc[0];
    fault.other_thread = block.divergent_thread[1];
    fault.other_pc = block.divergent_pc[1];
    return Faulted();
  }

  State Deadlock(const BlockState& block) {
    FaultState& fault = thread_.fault;
    fault.kind = FaultKind::kDeadlock;
    fault.block = block.index;
    std::snprintf(fault.text, sizeof(fault.text), "%s", WhoWaits(block, launch_).c_str());
    return Faulted();
  }

  Shared& shared_;
  LaunchState& launch_;
  const Kernel& kernel_;
  ThreadState thread_;
  uint32_t n_warps_ = 0;
  size_t register_bytes_ = 0, local_bytes_ = 0, raw_bytes_ = 0, block_bytes_ = 0, max_live_ = 1;
  bool races_ = false, waits_ = false, spent_ = false;
  uint64_t unspent_ = 0, ended_ = 0;
  std::vector<std::unique_ptr<BlockMemory>> all_;
  std::vector<BlockMemory*> free_;
};

}  // namespace

LaunchOutcome RunBlocks(const LaunchRequest& request, uint64_t* used) {
  LaunchState launch;
  launch.kernel = request.kernel;
  launch.grid[0] = request.grid.x;
  launch.grid[1] = request.grid.y;
  launch.grid[2] = request.grid.z;
  launch.ntid[0] = request.block.x;
  launch.ntid[1] = request.block.y;
  launch.ntid[2] = request.block.z;
  launch.dynamic_shared = static_cast<uint32_t>(request.dynamic_shared_bytes);
  launch.shared_bytes = launch.dynamic_shared == 0
                            ? request.kernel->static_shared
                            : request.kernel->dynamic_at + launch.dynamic_shared;
  launch.params = reinterpret_cast<const uint8_t*>(request.params);
  launch.param_bytes = request.kernel->param_bytes;
  launch.sms = request.sms;
  launch.budget = request.budget;
  launch.env[0] = request.number;
  launch.print = request.print;
  launch.print_to = request.print_to;
  std::vector<Allocation> table = *request.table;
  // What cg::this_grid().sync() counts in: a word in memory of the driver, its address in
  // %envreg1/2.
  alignas(64) uint32_t workspace[16] = {};
  if (request.cooperative) {
    uint64_t at = reinterpret_cast<uint64_t>(workspace);
    launch.env[1] = at >> 32;
    launch.env[2] = at & 0xffffffffu;
    table.push_back({at, at + sizeof(workspace), "the grid's barrier", true, nullptr, nullptr});
    std::sort(table.begin(), table.end(),
              [](const Allocation& a, const Allocation& b) { return a.begin < b.begin; });
  }
  launch.table = table.data();
  launch.table_size = table.size();

  Shared shared{&request, &launch, uint64_t{request.grid.x} * request.grid.y * request.grid.z,
                {},       {},      {},
                {},       {}};
  int threads = static_cast<int>(std::min<uint64_t>(std::max(1, request.threads), shared.blocks));
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&shared] { BlockRunner(shared).Run(); });
  }
  BlockRunner(shared).Run();
  for (std::thread& thread : others) thread.join();
  *used += shared.outcome.counters.lanes;
  shared.outcome.kind = shared.fault.kind;
  if (shared.fault.kind != FaultKind::kNone) shared.outcome.fault = Describe(shared.fault, launch);
  return std::move(shared.outcome);
}

Checked<Counters> RunLaunch(const LaunchRequest& request, uint64_t* used) {
  LaunchOutcome outcome = RunBlocks(request, used);
  if (outcome.kind != FaultKind::kNone) return tl::unexpected(std::move(outcome.fault));
  return outcome.counters;
}

}  // namespace cudaagent::device::ptx
