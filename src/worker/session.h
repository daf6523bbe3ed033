// What the worker keeps between jobs: the device, the loaded problem, and tensors bound to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "cudaagent/options.h"
#include "cudaagent/problem.h"
#include "cudaagent/result.h"
#include "device/device.h"
#include "device/plan_runner.h"
#include "reference/reference.h"
#include "worker/args.h"

namespace cudaagent::worker {

class Session {
 public:
  // kEnvironment where the device cannot be had. Python must run already.
  static Result<Session> Open(const Args& args);

  device::Device& device() { return *device_; }
  const ProblemSpec& spec() const { return spec_; }
  bool has_problem() const { return reference_ != nullptr; }
  reference::Reference& reference() { return *reference_; }

  // The device's facts with those of torch and CUPTI put in.
  DeviceStamp Stamp() const;

  // Replaces the problem; what belonged to the old one is freed first, also on failure.
  Result<void> Load(const ProblemSpec& spec);

  // Adapts to a job's options: the CPU device's model GPU and instruction budget, a GPU's guards.
  Result<void> Configure(const EvalOptions& options);

  // Inputs and parameters for a candidate: copies at addresses that stay the same for the problem's
  // life, never the reference's own tensors; on a GPU between guards. Contents of the
  // parameters are copied anew on each call; inputs are as the last candidate left them.
  Result<device::Bindings*> Bind();

  // Bytes every implementation of the loaded problem moves (graph::UnavoidableBytes); 0 where its
  // graph is not known.
  int64_t unavoidable_bytes() const { return unavoidable_bytes_; }

  // Why the loaded problem is degenerate at this tier, "" where it is not; looked into once.
  Result<std::string> Degenerate(const std::string& tier);

 private:
  explicit Session(Args args) : args_(std::move(args)) {}
  Result<void> OpenDevice(const EvalOptions& options);
  Result<void> AllocateBindings();

  Args args_;
  EvalOptions device_options_;
  std::unique_ptr<device::Device> device_;
  ProblemSpec spec_;
  std::unique_ptr<reference::Reference> reference_;
  device::Bindings bindings_;
  device::Guard guard_ = device::Guard::kZones;
  bool bound_ = false;
  int64_t unavoidable_bytes_ = 0;
  std::map<std::string, std::string> degenerate_;  // by tier
};

}  // namespace cudaagent::worker
