// A device whose kernels are C++ functions, and a plan's surroundings, for tests without a GPU.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "candidate/plan.h"
#include "device/device.h"
#include "device/plan_runner.h"
#include "device/tensor_info.h"

namespace cudaagent::device {

struct FakeKernel {
  std::vector<ParamLayout> params;
  std::function<Checked<void>(const Launch&)> run;
  KernelResources resources;
};

// The value of parameter `index`.
template <typename T>
T Param(const Launch& launch, const FakeKernel& kernel, size_t index) {
  T value;
  std::memcpy(&value, launch.params.data() + kernel.params.at(index).offset, sizeof(T));
  return value;
}

class FakeDevice : public Device {
 public:
  FakeDevice() {
    limits_.arch = "sm_90a";
    limits_.sms = 132;
    limits_.shared_optin_bytes = 227 << 10;
    stamp_.kind = "cpu";
  }
  const DeviceStamp& stamp() const override { return stamp_; }
  const Limits& limits() const override { return limits_; }
  bool is_gpu() const override { return false; }
  Checked<std::unique_ptr<Module>> Load(const Artifact&) override {
    ++loads;
    return std::make_unique<FakeModule>(*this);
  }
  void SetRegions(std::vector<MemoryRegion> given) override {
    regions = std::move(given);
    ++region_updates;
  }
  Checked<void> Synchronize() override { return {}; }
  bool poisoned() const override { return false; }
  std::vector<KernelCounters> TakeCounters() override { return {}; }

  const MemoryRegion* Region(const std::string& name) const {
    for (const MemoryRegion& each : regions) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }

  std::map<std::string, FakeKernel> kernels;  // by mangled name
  std::vector<MemoryRegion> regions;
  std::vector<Launch> launches;
  int loads = 0;
  int unloads = 0;
  int region_updates = 0;

 private:
  class FakeModule : public Module {
   public:
    explicit FakeModule(FakeDevice& device) : device_(device) {}
    ~FakeModule() override { ++device_.unloads; }
    Checked<KernelInfo> Kernel(const std::string& mangled) override {
      const FakeKernel& kernel = device_.kernels.at(mangled);
      return KernelInfo{kernel.params, kernel.resources};
    }
    Checked<void> Run(const Launch& launch) override {
      device_.launches.push_back(launch);
      const FakeKernel& kernel = device_.kernels.at(launch.kernel);
      return kernel.run ? kernel.run(launch) : Checked<void>();
    }

   private:
    FakeDevice& device_;
  };

  DeviceStamp stamp_;
  Limits limits_;
};

// A problem with its tensors; outputs are described by example.
struct FakeProblem {
  ProblemInfo info;
  Bindings bindings;

  void Input(const std::string& name, const at::Tensor& tensor) {
    info.inputs.push_back(DescribeTensor(name, tensor));
    bindings.inputs[name] = tensor;
  }
  void Parameter(const std::string& name, const at::Tensor& tensor) {
    info.parameters.push_back(DescribeTensor(name, tensor));
    bindings.parameters[name] = tensor;
  }
  void Output(const at::Tensor& like) {
    const std::string name = "out" + std::to_string(info.outputs.size());
    info.outputs.push_back(DescribeTensor(name, like));
  }
};

// The plan's text goes into a candidate whose code declares the kernels a test names.
inline candidate::ParsedCandidate Candidate(const std::string& plan, const std::string& code = "") {
  auto parsed = candidate::ParseCandidate("/*cudaagent\n" + plan + "\n*/\n" + code);
  if (!parsed) ADD_FAILURE() << "the test's plan does not parse: " << parsed.error().message;
  return parsed ? *parsed : candidate::ParsedCandidate{};
}

// Every kernel of the device under its own name.
inline Artifact ArtifactOf(const FakeDevice& device) {
  Artifact artifact;
  for (const auto& [name, kernel] : device.kernels) artifact.lowered[name] = name;
  return artifact;
}

}  // namespace cudaagent::device
