// A GPU, a compiler for it and plans on it, for tests labelled gpu.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/fake_device.h"
#include "device/gpu/driver.h"
#include "device/nvrtc_cubin.h"
#include "util/file.h"

namespace cudaagent::device {

// Why there is no GPU to test on; empty where there is one. Opens no context.
inline std::string GpuMissing() {
  auto driver = gpu::LoadDriver();
  if (!driver) return driver.error().message;
  int count = 0;
  (*driver)->cuDeviceGetCount(&count);
  return count > 0 ? "" : "the driver shows no GPU";
}

class GpuBench {
 public:
  GpuBench() {
    auto opened = OpenGpu(0);
    if (!opened) throw std::runtime_error(opened.error().message);
    device = std::move(*opened);
    auto folder = util::TempDir::Create("cudaagent-gpu-test");
    if (!folder) throw std::runtime_error(folder.error().message);
    folder_ = std::move(*folder);
    compiler_ = std::make_unique<CubinCompiler>(folder_.path());
  }

  at::TensorOptions options() const { return at::TensorOptions().device(at::kCUDA, 0); }

  // `kernels` are the name expressions of the plan's kernel steps.
  Checked<std::unique_ptr<PlanRunner>> Create(const FakeProblem& problem, const std::string& plan,
                                              const std::string& code,
                                              const std::vector<std::string>& kernels) {
    Artifact artifact;
    if (!kernels.empty()) artifact = compiler_->Compile(code, device->limits().arch, kernels);
    return PlanRunner::Create(Candidate(plan, code), problem.info, artifact, problem.bindings,
                              *device);
  }

  // Create, Run, Synchronize, CheckGuards: the first fault of these, or kOk.
  Fault Judge(const FakeProblem& problem, const std::string& plan, const std::string& code,
              const std::vector<std::string>& kernels) {
    auto runner = Create(problem, plan, code, kernels);
    if (!runner) return runner.error();
    if (auto ran = (*runner)->Run(); !ran) return ran.error();
    if (auto synced = device->Synchronize(); !synced) return synced.error();
    if (auto guards = (*runner)->CheckGuards(); !guards) return guards.error();
    return {Verdict::kOk, ""};
  }

  std::unique_ptr<Device> device;

 private:
  util::TempDir folder_;
  std::unique_ptr<CubinCompiler> compiler_;
};

}  // namespace cudaagent::device
