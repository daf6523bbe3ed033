// The CPU device: Device and Module of device.h over the executor.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/ptx/gpu_model.h"
#include "device/ptx/machine.h"
#include "device/ptx/module_image.h"
#include "device/ptx/ops.h"

namespace cudaagent::device::ptx {

// One thread at a time; a launch itself uses `threads` host threads.
class PtxDevice : public Device {
 public:
  // `races`: look for races in shared memory.
  PtxDevice(const GpuModel& model, uint64_t budget, const Executor& executor, int threads,
            bool races = true);

  const DeviceStamp& stamp() const override { return stamp_; }
  const Limits& limits() const override { return limits_; }
  bool is_gpu() const override { return false; }
  Checked<std::unique_ptr<Module>> Load(const Artifact& artifact) override;
  void SetRegions(std::vector<MemoryRegion> regions) override;
  Checked<void> Synchronize() override { return {}; }
  bool poisoned() const override { return false; }
  std::vector<KernelCounters> TakeCounters() override;

 private:
  friend class PtxModule;
  struct Region {
    MemoryRegion region;
    std::vector<uint8_t> written;  // empty where initialised
    bool touched = false;
  };

  void Count(const Kernel& kernel, const Counters& counters, const KernelWork& work);
  static void Print(LaunchState& launch, const char* text);

  GpuModel model_;
  uint64_t budget_;
  const Executor& executor_;
  int threads_;
  bool races_;
  DeviceStamp stamp_;
  Limits limits_;
  std::vector<std::unique_ptr<Region>> regions_;  // ascending, disjoint
  std::vector<KernelCounters> counters_;
  std::vector<uint64_t> lanes_;  // beside counters_
  uint64_t launches_ = 0;
  std::mutex print_mutex_;
  size_t printed_ = 0;  // bytes of the current launch
};

class PtxModule : public Module {
 public:
  PtxModule(PtxDevice& device, const std::string& ptx,
            const Artifact& artifact);  // throws PtxError

  Checked<KernelInfo> Kernel(const std::string& mangled) override;
  Checked<void> Run(const Launch& launch) override;

 private:
  Checked<const ptx::Kernel*> Find(const std::string& mangled);
  Checked<void> Accept(const ptx::Kernel& kernel, const Launch& launch) const;

  PtxDevice& device_;
  ModuleText text_;
  ModuleImage image_;
  std::map<std::string, std::string> shown_;  // mangled -> as the plan writes it
  std::map<std::string, ptx::Kernel> kernels_;
};

}  // namespace cudaagent::device::ptx
