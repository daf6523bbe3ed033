// Which blocks of which launches are interpreted, and what of the outcome counts.
#include "device/shadow.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "device/ptx/launch.h"
#include "device/ptx/lower.h"
#include "device/ptx/mirror.h"

namespace cudaagent::device {
namespace ptx {
namespace {

constexpr size_t kMaxPtxBytes = 64u << 20;
constexpr uint64_t kThreadsWorthSharing = 4096;  // smaller launches run on one host thread
constexpr int kMostThreads = 8;
// A grid whose blocks wait for one another must run whole, all blocks in flight: their registers
// take memory.
constexpr uint64_t kMostWaitingThreads = 64 << 10;

// What does not depend on other blocks, so that any blocks of a launch can show it.
bool ShownByABlock(FaultKind kind) {
  return kind == FaultKind::kRace || kind == FaultKind::kDivergentBarrier ||
         kind == FaultKind::kInFlight || kind == FaultKind::kSharedUninitialised;
}

class PtxShadow : public Shadow {
 public:
  PtxShadow(const Artifact& artifact, const ShadowOptions& options)
      : options_(options),
        ptx_path_(artifact.ptx_path),
        unseen_(artifact.lowered.size()),
        random_(options.seed),
        budget_(options.budget),
        left_(options.copied) {
    for (const auto& [instance, mangled] : artifact.lowered) shown_[mangled] = instance;
    if (options_.threads <= 0) {
      options_.threads =
          std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
    }
  }

  void SetRegions(std::vector<MemoryRegion> regions) override {
    regions_ = std::move(regions);
    fresh_ = true;
  }

  bool Wants(const Launch& launch) override {
    Seen& seen = seen_[launch.kernel];
    wanted_fresh_ = std::exchange(fresh_, false);
    if (seen.given_up || seen.launches >= options_.launches) return false;
    if (seen.launches++ == 0 && unseen_ > 0) --unseen_;
    return true;
  }

  Checked<void> Look(const Launch& launch, DeviceMemory& memory) override {
    const auto start = std::chrono::steady_clock::now();
    Checked<void> done;
    try {
      if (!module_) Load(memory);
      done = Interpret(launch, memory);
    } catch (const std::exception& error) {  // PtxError; no memory
      GiveUp(launch, error.what());
    }
    report_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return done;
  }

  const RaceReport& report() const override { return report_; }

 private:
  struct Seen {
    int launches = 0;
    bool looked = false;
    bool given_up = false;
    std::optional<Kernel> kernel;
  };
  struct Loaded {
    ModuleText text;
    ModuleImage image;
    Loaded(const std::string& ptx, const ModuleImage::Locate& locate)
        : text(ParsePtx(ptx)), image(text, locate) {}
  };
  // The memory of one launch as the interpreter sees it: thrown away after each run of blocks.
  struct View {
    std::vector<std::unique_ptr<Mirror>> mirrors;
    std::vector<std::unique_ptr<LazyMemory>> written;
    std::vector<Allocation> table;
  };

  void Load(DeviceMemory& memory) {
    std::ifstream file(ptx_path_, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    std::string ptx = std::move(text).str();
    if (!file || ptx.size() > kMaxPtxBytes) throw PtxError("its PTX cannot be read");
    module_.emplace(ptx, [&memory](const std::string& name, uint64_t bytes) {
      return bytes == 0 ? 0 : memory.AddressOf(name, bytes);
    });
  }

  std::string Shown(const Launch& launch) const {
    const auto shown = shown_.find(launch.kernel);
    return shown != shown_.end() ? shown->second : launch.kernel;
  }

  void GiveUp(const Launch& launch, const std::string& why) {
    seen_[launch.kernel].given_up = true;
    report_.remarks.push_back("races: not looked for in kernel " + Shown(launch) + " (" + why +
                              ")");
  }

  const Kernel& KernelOf(const Launch& launch) {
    Seen& seen = seen_[launch.kernel];
    if (seen.kernel) return *seen.kernel;
    const auto found = module_->text.function_of.find(launch.kernel);
    if (found == module_->text.function_of.end()) throw PtxError("its PTX does not have it");
    const Function& function = module_->text.functions[static_cast<size_t>(found->second)];
    if (!function.entry || !function.defined) throw PtxError("its PTX does not have it");
    seen.kernel = Lowering(module_->text, module_->image, BestExecutor()).Lower(function);
    seen.kernel->shown = Shown(launch);
    return *seen.kernel;
  }

  View Map(DeviceMemory& memory, bool track_written) {
    View view;
    const auto add = [&](uint64_t at, uint64_t bytes, const char* name, bool writable) {
      view.mirrors.push_back(Mirror::Map(memory, at, bytes, &left_));
      if (view.mirrors.back() == nullptr) throw PtxError("no address space for copies of memory");
      Allocation allocation{at, at + bytes, name, writable, nullptr, nullptr};
      allocation.shift = view.mirrors.back()->shift();
      allocation.pages = view.mirrors.back().get();
      view.table.push_back(allocation);
    };
    for (const MemoryRegion& region : regions_) {
      if (region.bytes == 0) continue;
      add(reinterpret_cast<uint64_t>(region.base), region.bytes, region.name.c_str(),
          region.writable);
      if (!track_written || region.initialised) continue;
      view.written.push_back(LazyMemory::Map(region.bytes));
      if (view.written.back() == nullptr) throw PtxError("no address space for copies of memory");
      view.table.back().written = view.written.back()->data();
    }
    for (const PlacedVariable& variable : module_->image.variables()) {
      if (variable.bytes == 0) continue;
      const bool writable = !variable.constant;
      if (variable.base == nullptr) {
        add(variable.address, variable.bytes, variable.name.c_str(), writable);
        continue;
      }
      view.table.push_back({variable.address, variable.address + variable.bytes,
                            variable.name.c_str(), writable, nullptr, nullptr});
    }
    std::sort(view.table.begin(), view.table.end(),
              [](const Allocation& a, const Allocation& b) { return a.begin < b.begin; });
    return view;
  }

  // The first, the last and random others; nothing where the sample would be the whole grid.
  std::vector<uint64_t> Choose(uint64_t blocks) {
    const auto most = static_cast<uint64_t>(std::max(2, options_.blocks));
    if (blocks <= most) return {};
    std::set<uint64_t> chosen = {0, blocks - 1};
    while (chosen.size() < most) chosen.insert(random_() % blocks);
    return {chosen.begin(), chosen.end()};
  }

  // Runs the chosen blocks, or all where there are none, for at most `budget` instructions.
  LaunchOutcome Run(const Launch& launch, const Kernel& kernel, DeviceMemory& memory,
                    const std::vector<uint64_t>& chosen, uint64_t budget, uint64_t* used) {
    const View view = Map(memory, chosen.empty() && wanted_fresh_);
    LaunchRequest request;
    request.kernel = &kernel;
    request.executor = &BestExecutor();
    request.grid = launch.grid;
    request.block = launch.block;
    request.dynamic_shared_bytes = launch.dynamic_shared_bytes;
    request.cooperative = launch.cooperative;
    request.params = launch.params.data();
    request.table = &view.table;
    request.sms = static_cast<uint32_t>(std::max(1, options_.sms));
    request.budget = budget;
    request.chosen = chosen.empty() ? nullptr : &chosen;
    const uint64_t blocks =
        chosen.empty() ? uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z : chosen.size();
    const uint64_t threads = blocks * launch.block.x * launch.block.y * launch.block.z;
    request.threads = threads < kThreadsWorthSharing ? 1 : options_.threads;
    uint64_t spent = 0;
    LaunchOutcome outcome = RunBlocks(request, &spent);
    *used += spent;
    budget_ -= std::min(budget_, spent);
    return outcome;
  }

  Checked<void> Interpret(const Launch& launch, DeviceMemory& memory) {
    const Kernel& kernel = KernelOf(launch);
    const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    const uint64_t per_block = uint64_t{launch.block.x} * launch.block.y * launch.block.z;
    // What the GPU refuses itself.
    if (blocks == 0 || per_block == 0 || per_block > 1024) return {};
    if (launch.params.size() < kernel.param_bytes) {
      GiveUp(launch, "its parameters are laid out otherwise than in its PTX");
      return {};
    }
    const bool may_wait = blocks * per_block <= kMostWaitingThreads;
    if (launch.cooperative && !may_wait) {
      GiveUp(launch, "it is cooperative and too large to be interpreted as a whole");
      return {};
    }
    // What is left is for this kernel's other launch and for the kernels not seen yet.
    const uint64_t share = budget_ / (unseen_ + 2);
    uint64_t used = 0;
    bool whole = launch.cooperative;
    uint64_t looked = 0;
    if (!whole) {
      const std::vector<uint64_t> chosen = Choose(blocks);
      whole = chosen.empty();
      if (!whole) {
        const LaunchOutcome sample = Run(launch, kernel, memory, chosen, share, &used);
        if (ShownByABlock(sample.kind)) return Found(launch, sample);
        if (sample.kind != FaultKind::kNone) return Stopped(launch, sample);
        looked = sample.ended;
        if (sample.waits && !may_wait) {
          GiveUp(launch, "its blocks wait for one another, and there are too many");
          return {};
        }
        // Dear grids are left at the sample.
        whole = sample.waits || (!sample.spent && sample.ended > 0 &&
                                 used / sample.ended * blocks <= share - std::min(used, share));
      }
    }
    if (whole) {
      const LaunchOutcome all =
          Run(launch, kernel, memory, {}, share - std::min(used, share), &used);
      if (ShownByABlock(all.kind) || all.kind == FaultKind::kUninitialised) {
        return Found(launch, all);
      }
      if (all.kind != FaultKind::kNone && all.kind != FaultKind::kBudget) {
        return Stopped(launch, all);
      }
      if (all.kind == FaultKind::kNone && !all.races &&
          kernel.static_shared + launch.dynamic_shared_bytes != 0) {
        GiveUp(launch, "the records of its accesses need too much memory");
        return {};
      }
      looked = std::max(looked, all.ended);
    }
    if (looked == 0) {
      GiveUp(launch, "it takes more instructions than were left for it");
      return {};
    }
    Seen& seen = seen_[launch.kernel];
    if (!std::exchange(seen.looked, true)) ++report_.kernels;
    ++report_.launches;
    report_.blocks += static_cast<int64_t>(looked);
    return {};
  }

  Checked<void> Found(const Launch& launch, const LaunchOutcome& outcome) {
    if (!std::exchange(seen_[launch.kernel].looked, true)) ++report_.kernels;
    ++report_.launches;
    report_.blocks += static_cast<int64_t>(outcome.ended) + 1;
    return Blame(outcome.fault.verdict,
                 outcome.fault.message +
                     "; found by interpreting blocks of this launch, for the GPU's own schedule "
                     "may hide it");
  }

  // Where the interpreter sees a fault that the GPU's guards and checks are there to find.
  Checked<void> Stopped(const Launch& launch, const LaunchOutcome& outcome) {
    GiveUp(launch, outcome.kind == FaultKind::kNotFetched && left_.load() < 0
                       ? "its blocks touch more memory than is copied"
                       : "the interpreter stopped: " + outcome.fault.message);
    return {};
  }

  ShadowOptions options_;
  std::string ptx_path_;
  std::map<std::string, std::string> shown_;  // mangled -> as the plan writes it
  size_t unseen_;                             // kernels without a launch so far
  std::mt19937_64 random_;
  uint64_t budget_;
  std::atomic<int64_t> left_;
  std::vector<MemoryRegion> regions_;
  bool fresh_ = false;         // no launch since the regions were told
  bool wanted_fresh_ = false;  // the same, of the launch that is looked at
  std::optional<Loaded> module_;
  std::map<std::string, Seen> seen_;  // by mangled name
  RaceReport report_;
};

}  // namespace
}  // namespace ptx

std::unique_ptr<Shadow> OpenShadow(const Artifact& artifact, const ShadowOptions& options) {
  return std::make_unique<ptx::PtxShadow>(artifact, options);
}

}  // namespace cudaagent::device
