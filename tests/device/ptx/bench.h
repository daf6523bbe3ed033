// A kernel under test: PTX or CUDA source, named buffers, one launch.
#pragma once

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "cudaagent/fault.h"
#include "device/device.h"
#include "device/ptx/nvrtc.h"
#include "device/ptx/ptx_device.h"

namespace cudaagent::device::ptx::test {

template <class T>
struct Buffer {
  std::string name;
  std::vector<T> data;
  bool writable = true;
  bool initialised = true;
};

class Bench {
 public:
  explicit Bench(const std::string& ptx, const Executor& executor = BestExecutor(), int threads = 1,
                 uint64_t budget = 2'000'000'000, bool races = true)
      : device_(*FindGpuModel("h200"), budget, executor, threads, races) {
    char path[] = "/tmp/cudaagent_ptx_test_XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    std::ofstream(path) << ptx;
    Artifact artifact;
    artifact.ptx_path = path;
    Checked<std::unique_ptr<Module>> module = device_.Load(artifact);
    unlink(path);
    if (module) {
      module_ = std::move(*module);
    } else {
      load_fault_ = module.error();
    }
  }

  template <class T>
  Bench& With(Buffer<T>& buffer) {
    regions_.push_back({buffer.name, buffer.data.data(), buffer.data.size() * sizeof(T),
                        buffer.writable, buffer.initialised});
    Arg(buffer.data.data());
    return *this;
  }
  template <class T>
  Bench& Arg(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    size_t at = (params_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    params_.resize(at + sizeof(T));
    std::memcpy(params_.data() + at, &value, sizeof(T));
    return *this;
  }
  void Clear() {
    params_.clear();
    regions_.clear();
  }

  Checked<void> Run(const std::string& kernel, Dim3 grid, Dim3 block, size_t shared = 0,
                    bool cooperative = false) {
    if (module_ == nullptr) return tl::unexpected(*load_fault_);
    device_.SetRegions(regions_);
    Launch launch;
    launch.kernel = kernel;
    launch.grid = grid;
    launch.block = block;
    launch.dynamic_shared_bytes = shared;
    launch.cooperative = cooperative;
    launch.params = params_;
    return module_->Run(launch);
  }
  // The fault's sentence, "ok" where the launch went well.
  std::string Say(const std::string& kernel, Dim3 grid, Dim3 block, size_t shared = 0,
                  bool cooperative = false) {
    Checked<void> ran = Run(kernel, grid, block, shared, cooperative);
    return ran ? "ok" : std::string(ToString(ran.error().verdict)) + ": " + ran.error().message;
  }
  KernelCounters Counted() {
    std::vector<KernelCounters> all = device_.TakeCounters();
    return all.empty() ? KernelCounters{} : all.back();
  }
  PtxDevice& device() { return device_; }
  Module* module() { return module_.get(); }

 private:
  PtxDevice device_;
  std::unique_ptr<Module> module_;
  std::optional<Fault> load_fault_;
  std::vector<MemoryRegion> regions_;
  std::vector<std::byte> params_;
};

}  // namespace cudaagent::device::ptx::test
