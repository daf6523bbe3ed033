// One interface, two devices: a CUDA GPU through the driver API (gpu/) and an interpreter of PTX
// on the CPU (ptx/). It knows kernels, launches and memory regions; plans are plan_runner.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/options.h"
#include "cudaagent/result.h"
#include "device/guard.h"

namespace cudaagent::device {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// What the compiler made of a candidate. `lowered` maps the plan's kernel instance
// ("f<256, 2>") to its mangled name in the module; `demangled` to its full signature.
struct Artifact {
  std::string cubin_path;
  std::string ptx_path;
  std::map<std::string, std::string> lowered;
  std::map<std::string, std::string> demangled;
};

struct ParamLayout {
  size_t offset = 0;
  size_t bytes = 0;
};

struct KernelInfo {
  std::vector<ParamLayout> params;
  KernelResources resources;
};

struct Launch {
  std::string kernel;  // mangled name
  Dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> params;  // laid out as KernelInfo::params says
};

// Memory a kernel may touch. The CPU device lets it touch nothing else; a GPU only hands it on to
// its shadow.
struct MemoryRegion {
  std::string name;  // plan name without "$": "x", "fc.weight", "out0"
  void* base = nullptr;
  size_t bytes = 0;
  bool writable = false;
  bool initialised = true;  // false: reads before the first write are reported
};

struct Limits {
  std::string arch;  // "sm_90a": what the compiler must target
  int sms = 0;
  int64_t l2_bytes = 0;
  int64_t shared_optin_bytes = 0;  // per block, dynamic
  int64_t memory_bytes = 0;
  double peak_bytes_per_s = 0;  // of device memory, by its clock and width; 0 = not known
  int max_threads_per_block = 1024;
};

class Module {
 public:
  virtual ~Module() = default;  // unloads
  virtual Checked<KernelInfo> Kernel(const std::string& mangled) = 0;
  // GPU: enqueues on the current torch stream. CPU: runs to the end.
  virtual Checked<void> Run(const Launch& launch) = 0;
  // Blocks of one multiprocessor that are resident at once. Here: what threads and shared memory
  // allow on sm_90; a GPU knows its registers too.
  virtual Checked<int64_t> BlocksPerSm(const std::string& mangled, int64_t threads,
                                       int64_t shared_bytes);
};

class Shadow;  // shadow.h

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceStamp& stamp() const = 0;
  virtual const Limits& limits() const = 0;
  virtual bool is_gpu() const = 0;
  virtual Checked<std::unique_ptr<Module>> Load(const Artifact& artifact) = 0;
  virtual void SetRegions(std::vector<MemoryRegion> regions) = 0;
  // Whether regions are of use now.
  virtual bool wants_regions() const { return !is_gpu(); }
  // GPU: launches from now on are shown to `shadow` first, which must outlive them; null: no
  // longer.
  virtual void SetShadow(Shadow*) {}
  // What surrounds buffers from now on: the sentence about a GPU's fault mentions strict guards.
  virtual void TellGuard(Guard) {}
  // Waits for all work; a kernel's fault shows here on a GPU.
  virtual Checked<void> Synchronize() = 0;
  // True once a fault has made this process useless (a GPU context after an illegal address).
  virtual bool poisoned() const = 0;
  // Counters since the last call, by kernel in order of first launch. Empty on a GPU.
  virtual std::vector<KernelCounters> TakeCounters() = 0;
};

// Each returns kEnvironment with what was tried where the device cannot be had.
Result<std::unique_ptr<Device>> OpenGpu(int index);                   // gpu/
Result<std::unique_ptr<Device>> OpenPtx(const EvalOptions& options);  // ptx/

}  // namespace cudaagent::device
