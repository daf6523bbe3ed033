#include "device/ptx/ptx_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "device/ptx/launch.h"
#include "device/ptx/lower.h"

namespace cudaagent::device {
namespace ptx {
namespace {

constexpr size_t kMaxPrinted = 256 * 1024;  // bytes of device printf per launch
constexpr size_t kMaxPtxBytes = 64u << 20;
constexpr uint64_t kThreadsWorthSharing =
    4096;  // launches smaller than this run on one host thread

}  // namespace

PtxDevice::PtxDevice(const GpuModel& model, uint64_t budget, const Executor& executor, int threads,
                     bool races)
    : model_(model), budget_(budget), executor_(executor), threads_(threads), races_(races) {
  stamp_.kind = "cpu";
  stamp_.name = "PTX interpreter (models " + std::string(model.name) + ")";
  stamp_.arch = model.arch;
  limits_.arch = model.arch;
  limits_.sms = model.sms;
  limits_.l2_bytes = model.l2_bytes;
  limits_.shared_optin_bytes = model.shared_optin_bytes;
  limits_.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
}

Checked<std::unique_ptr<Module>> PtxDevice::Load(const Artifact& artifact) {
  std::ifstream file(artifact.ptx_path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Blame(Verdict::kInfraError, "cannot read the compiled PTX " + artifact.ptx_path);
  }
  std::string ptx = std::move(text).str();
  if (ptx.size() > kMaxPtxBytes) {
    return Blame(Verdict::kUnsupported,
                 "the compiled PTX is larger than 64 MiB, the CPU device's limit");
  }
  try {
    return std::make_unique<PtxModule>(*this, ptx, artifact);
  } catch (const PtxError& error) {
    return Blame(Verdict::kUnsupported, error.what());
  }
}

// Overlapping regions (tied weights, views) count for the one that begins first.
void PtxDevice::SetRegions(std::vector<MemoryRegion> regions) {
  std::stable_sort(regions.begin(), regions.end(),
                   [](const MemoryRegion& a, const MemoryRegion& b) {
                     return reinterpret_cast<uint64_t>(a.base) < reinterpret_cast<uint64_t>(b.base);
                   });
  regions_.clear();
  uint64_t end = 0;
  for (MemoryRegion& region : regions) {
    uint64_t at = reinterpret_cast<uint64_t>(region.base);
    if (at < end) {
      uint64_t cut = std::min<uint64_t>(end - at, region.bytes);
      region.base = static_cast<uint8_t*>(region.base) + cut;
      region.bytes -= cut;
    }
    if (region.bytes == 0) continue;
    end = reinterpret_cast<uint64_t>(region.base) + region.bytes;
    auto kept = std::make_unique<Region>();
    if (!region.initialised) kept->written.resize(region.bytes);
    kept->region = std::move(region);
    regions_.push_back(std::move(kept));
  }
}

void PtxDevice::Count(const ptx::Kernel& kernel, const Counters& counters, const KernelWork& work) {
  size_t at = 0;
  while (at < counters_.size() && counters_[at].name != kernel.shown) ++at;
  if (at == counters_.size()) {
    counters_.emplace_back();
    counters_.back().name = kernel.shown;
    lanes_.push_back(0);
  }
  KernelCounters& c = counters_[at];
  ++c.launches;
  c.instructions += static_cast<int64_t>(work.instructions);
  c.global_requests += static_cast<int64_t>(counters.requests);
  c.global_sectors += static_cast<int64_t>(counters.sectors);
  c.global_bytes += static_cast<int64_t>(counters.bytes);
  c.shared_requests += static_cast<int64_t>(counters.shared_requests);
  c.shared_wavefronts += static_cast<int64_t>(counters.wavefronts);
  lanes_[at] += counters.lanes;
  if (c.instructions > 0) {
    c.active_lane_share =
        static_cast<double>(lanes_[at]) / (32.0 * static_cast<double>(c.instructions));
  }
  c.estimated_us += EstimateKernelUs(model_, work);
}

std::vector<KernelCounters> PtxDevice::TakeCounters() {
  lanes_.clear();
  return std::exchange(counters_, {});
}

// To stdout, as a GPU's printf goes; the worker's stdout is its log.
void PtxDevice::Print(LaunchState& launch, const char* text) {
  PtxDevice& device = *static_cast<PtxDevice*>(launch.print_to);
  std::lock_guard<std::mutex> lock(device.print_mutex_);
  if (device.printed_ > kMaxPrinted) return;
  device.printed_ += std::strlen(text);
  std::fputs(text, stdout);
  if (device.printed_ > kMaxPrinted) {
    std::fputs("\n[device printf: further output of this launch is dropped]\n", stdout);
  }
}

PtxModule::PtxModule(PtxDevice& device, const std::string& ptx, const Artifact& artifact)
    : device_(device), text_(ParsePtx(ptx)), image_(text_) {
  for (const auto& [instance, mangled] : artifact.lowered) shown_[mangled] = instance;
}

Checked<const ptx::Kernel*> PtxModule::Find(const std::string& mangled) {
  auto known = kernels_.find(mangled);
  if (known != kernels_.end()) return &known->second;
  auto found = text_.function_of.find(mangled);
  if (found == text_.function_of.end() || !text_.functions[found->second].entry ||
      !text_.functions[found->second].defined) {
    return Blame(Verdict::kBadCandidate, "the compiled module has no kernel " + mangled);
  }
  try {
    ptx::Kernel kernel =
        Lowering(text_, image_, device_.executor_).Lower(text_.functions[found->second]);
    auto shown = shown_.find(mangled);
    kernel.shown = shown != shown_.end() ? shown->second : mangled;
    return &(kernels_[mangled] = std::move(kernel));
  } catch (const PtxError& error) {
    return Blame(Verdict::kUnsupported, error.what());
  }
}

Checked<KernelInfo> PtxModule::Kernel(const std::string& mangled) {
  Checked<const ptx::Kernel*> kernel = Find(mangled);
  if (!kernel) return tl::unexpected(kernel.error());
  KernelInfo info;
  for (const ptx::Kernel::Param& param : (*kernel)->params)
    info.params.push_back({param.offset, param.bytes});
  info.resources.name = (*kernel)->shown;
  info.resources.local_bytes = (*kernel)->local_bytes;
  info.resources.static_shared_bytes = (*kernel)->static_shared;
  info.resources.max_threads = static_cast<int>(std::min<uint32_t>((*kernel)->max_threads, 1024));
  return info;
}

Checked<void> PtxModule::Accept(const ptx::Kernel& kernel, const Launch& launch) const {
  auto reject = [&](const std::string& what) {
    return Blame(Verdict::kLaunchRejected, "kernel " + kernel.shown + ": " + what);
  };
  const Dim3 &grid = launch.grid, &block = launch.block;
  auto text = [](const Dim3& d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return reject("the grid " + text(grid) + " is empty");
  if (block.x == 0 || block.y == 0 || block.z == 0)
    return reject("the block " + text(block) + " is empty");
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    return reject("the grid " + text(grid) + " is larger than (2147483647,65535,65535)");
  }
  uint64_t threads = uint64_t{block.x} * block.y * block.z;
  uint64_t most = std::min<uint64_t>(kernel.max_threads,
                                     static_cast<uint64_t>(device_.limits_.max_threads_per_block));
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > most) {
    return reject("the block " + text(block) + " has " + std::to_string(threads) +
                  " threads, but " +
                  (threads <= most ? "no side may exceed (1024,1024,64)"
                                   : "this kernel takes at most " + std::to_string(most)));
  }
  uint64_t dynamic = launch.dynamic_shared_bytes;
  uint64_t shared = dynamic == 0 ? kernel.static_shared : kernel.dynamic_at + dynamic;
  uint64_t limit = static_cast<uint64_t>(device_.limits_.shared_optin_bytes);
  if (dynamic > limit || shared > limit) {
    return reject("needs " + std::to_string(shared) + " bytes of shared memory per block (" +
                  std::to_string(kernel.static_shared) + " static and " + std::to_string(dynamic) +
                  " dynamic), but " + std::string(device_.model_.name) + " has " +
                  std::to_string(limit));
  }
  if (launch.params.size() < kernel.param_bytes) {
    return reject("the launch passes " + std::to_string(launch.params.size()) +
                  " bytes of parameters, the kernel takes " + std::to_string(kernel.param_bytes));
  }
  if (launch.cooperative) {
    uint64_t per_sm = std::min<uint64_t>(
        {2048 / ((threads + 31) / 32 * 32), 32,
         static_cast<uint64_t>(device_.model_.shared_sm_bytes) / (shared + 1024)});
    uint64_t resident = per_sm * static_cast<uint64_t>(device_.model_.sms);
    uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    if (blocks > resident) {
      return reject("a cooperative grid of " + std::to_string(blocks) +
                    " blocks cannot be resident at once: " + std::string(device_.model_.name) +
                    " holds " + std::to_string(resident) + " blocks of this size");
    }
  }
  return {};
}

Checked<void> PtxModule::Run(const Launch& launch) {
  Checked<const ptx::Kernel*> found = Find(launch.kernel);
  if (!found) return tl::unexpected(found.error());
  const ptx::Kernel& kernel = **found;
  if (Checked<void> accepted = Accept(kernel, launch); !accepted) return accepted;

  std::vector<Allocation> table;
  for (const std::unique_ptr<PtxDevice::Region>& region : device_.regions_) {
    uint64_t at = reinterpret_cast<uint64_t>(region->region.base);
    region->touched = false;
    table.push_back({at, at + region->region.bytes, region->region.name.c_str(),
                     region->region.writable, &region->touched,
                     region->written.empty() ? nullptr : region->written.data()});
  }
  for (const PlacedVariable& variable : image_.variables()) {
    if (variable.bytes == 0) continue;
    uint64_t at = variable.address;
    table.push_back(
        {at, at + variable.bytes, variable.name.c_str(), !variable.constant, nullptr, nullptr});
  }
  std::sort(table.begin(), table.end(),
            [](const Allocation& a, const Allocation& b) { return a.begin < b.begin; });

  LaunchRequest request;
  request.kernel = &kernel;
  request.executor = &device_.executor_;
  request.grid = launch.grid;
  request.block = launch.block;
  request.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  request.cooperative = launch.cooperative;
  request.params = launch.params.data();
  request.table = &table;
  request.sms = static_cast<uint32_t>(device_.model_.sms);
  request.budget = device_.budget_;
  request.races = device_.races_;
  request.number = ++device_.launches_;
  request.print = PtxDevice::Print;
  request.print_to = &device_;
  uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  uint64_t threads = blocks * launch.block.x * launch.block.y * launch.block.z;
  request.threads = threads < kThreadsWorthSharing ? 1 : device_.threads_;
  device_.printed_ = 0;
  uint64_t used = 0;
  Checked<Counters> counters = RunLaunch(request, &used);
  std::fflush(stdout);
  if (!counters) return tl::unexpected(counters.error());

  KernelWork work;
  for (uint64_t n : counters->by_class) work.instructions += n;
  work.fp64 = counters->by_class[static_cast<int>(Cls::kFp64)];
  work.special = counters->by_class[static_cast<int>(Cls::kSpecial)];
  work.matrix = counters->by_class[static_cast<int>(Cls::kMatrix)];
  work.sectors = counters->sectors;
  work.shared_wavefronts = counters->wavefronts;
  work.atomics = counters->atomics;
  work.blocks = blocks;
  work.threads_per_block = launch.block.x * launch.block.y * launch.block.z;
  for (const std::unique_ptr<PtxDevice::Region>& region : device_.regions_) {
    if (region->touched) work.footprint_bytes += region->region.bytes;
  }
  device_.Count(kernel, *counters, work);
  return {};
}

}  // namespace ptx

Result<std::unique_ptr<Device>> OpenPtx(const EvalOptions& options) {
  std::optional<ptx::GpuModel> model = ptx::FindGpuModel(options.model_gpu);
  if (!model) {
    return Fail(ErrorCode::kUsage, "The CPU device has no model of the GPU '" + options.model_gpu +
                                       "'. Known are " + std::string(ptx::GpuModelKeys()) + ".");
  }
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::make_unique<ptx::PtxDevice>(*model, options.instruction_budget, ptx::BestExecutor(),
                                          threads);
}

}  // namespace cudaagent::device
