// A device, a reference and a runner on CPU tensors whose events are written down, for the order of
// a trial.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/plan_runner.h"
#include "reference/reference.h"

namespace cudaagent::verify {

using Events = std::vector<std::string>;

class FakeDevice : public device::Device {
 public:
  FakeDevice(Events* events, bool gpu) : events_(events), gpu_(gpu) {}
  const DeviceStamp& stamp() const override { return stamp_; }
  const device::Limits& limits() const override { return limits_; }
  bool is_gpu() const override { return gpu_; }
  Checked<std::unique_ptr<device::Module>> Load(const device::Artifact&) override {
    return Blame(Verdict::kUnsupported, "A fake loads nothing.");
  }
  void SetRegions(std::vector<device::MemoryRegion>) override {}
  Checked<void> Synchronize() override {
    events_->push_back("synchronize");
    if (fault) return tl::unexpected<Fault>(*fault);
    return {};
  }
  bool poisoned() const override { return false; }
  std::vector<KernelCounters> TakeCounters() override { return {}; }

  std::optional<Fault> fault;

 private:
  Events* events_;
  bool gpu_;
  DeviceStamp stamp_;
  device::Limits limits_;
};

// y = x * weight, inputs drawn from the seed.
class FakeReference : public reference::Reference {
 public:
  explicit FakeReference(Events* events) : events_(events) {
    info_.inputs = {{"x", {8, 4}, {4, 1}, "float32", 128, true}};
    info_.scalars = {{"n", "3"}};
    info_.parameters = {{"weight", {4}, {1}, "float32", 16, true}};
    parameters_["weight"] = at::rand({4}) + 1;
  }
  const ProblemInfo& info() const override { return info_; }
  void Graph(const std::string& json) { info_.graph_json = json; }
  Result<std::vector<c10::IValue>> MakeInputs(uint64_t seed) override {
    events_->push_back("inputs");
    seeds.push_back(seed);
    if (inputs_error) return tl::unexpected<Error>(*inputs_error);
    at::manual_seed(seed);
    return std::vector<c10::IValue>{at::rand({rows, 4}), scalar};
  }
  Result<std::vector<at::Tensor>> Forward(const std::vector<c10::IValue>& inputs,
                                          Precision precision) override {
    events_->push_back(precision == Precision::kFp32 ? "forward" : "forward tf32");
    if (forward_error) return tl::unexpected<Error>(*forward_error);
    const double error = precision == Precision::kFp32 ? 1 : 1.002;
    return std::vector<at::Tensor>{inputs[0].toTensor() * parameters_["weight"] * error};
  }
  Result<std::vector<at::Tensor>> ForwardCompiled(const std::string&,
                                                  const std::vector<c10::IValue>& inputs,
                                                  Precision precision) override {
    return Forward(inputs, precision);
  }
  Result<std::vector<at::Tensor>> ForwardDouble(const std::vector<c10::IValue>& inputs) override {
    events_->push_back("forward double");
    return std::vector<at::Tensor>{inputs[0].toTensor().to(at::kDouble) *
                                   parameters_["weight"].to(at::kDouble) * double_factor};
  }
  Result<void> RedrawParameters(uint64_t seed) override {
    events_->push_back("redraw");
    original_ = parameters_["weight"].clone();
    at::manual_seed(seed);
    parameters_["weight"].uniform_(2, 3);
    return {};
  }
  Result<void> RestoreParameters() override {
    events_->push_back("restore");
    parameters_["weight"].copy_(original_);
    return {};
  }
  Result<void> RestoreStatistics() override { return {}; }
  // The parameter becomes one that forward updates.
  void WeightIsStatistic() { info_.statistics = {"weight"}; }
  const std::map<std::string, at::Tensor>& parameters() const override { return parameters_; }

  std::vector<uint64_t> seeds;
  std::optional<Error> inputs_error, forward_error;
  int64_t rows = 8;
  int64_t scalar = 3;
  double double_factor = 1;  // how far float64 says eager itself is off

 private:
  Events* events_;
  ProblemInfo info_;
  at::Tensor original_;
  std::map<std::string, at::Tensor> parameters_;
};

// Runs `work` on the bound tensors.
class FakeRunner : public device::PlanRunner {
 public:
  using Work = std::function<Checked<void>(device::Bindings&, at::Tensor& out)>;
  FakeRunner(Events* events, device::Bindings* bindings, Work work)
      : events_(events), bindings_(bindings), work_(std::move(work)) {
    outputs_ = {at::empty({8, 4})};
  }
  void Poison() override {
    events_->push_back("poison");
    outputs_[0].fill_(std::numeric_limits<float>::quiet_NaN());
  }
  Checked<void> CheckGuards() override {
    events_->push_back("guards");
    if (guard_fault) return tl::unexpected<Fault>(*guard_fault);
    return {};
  }
  Checked<void> Run() override {
    events_->push_back("run");
    return work_(*bindings_, outputs_[0]);
  }
  Checked<bool> Capture(std::string*) override { return false; }
  Checked<void> Replay() override {
    events_->push_back("replay");
    return work_(*bindings_, outputs_[0]);
  }
  Checked<void> Reload() override { return {}; }
  Checked<void> PrepareAgain() override {
    events_->push_back("prepare");
    return {};
  }
  const std::vector<at::Tensor>& outputs() const override { return outputs_; }
  std::optional<int64_t> extra_bytes() const override { return std::nullopt; }
  std::optional<PrepareReport> prepared() const override { return std::nullopt; }
  std::vector<KernelResources> resources() const override { return {}; }
  std::vector<std::string> kernel_names() const override { return {}; }

  std::optional<Fault> guard_fault;

 private:
  Events* events_;
  device::Bindings* bindings_;
  Work work_;
  std::vector<at::Tensor> outputs_;
};

}  // namespace cudaagent::verify
