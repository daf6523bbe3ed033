// Runs a plan: binds names to tensors, evaluates expressions, launches kernel steps on a Device and
// calls op steps through the dispatcher. The same code on both devices; capture is GPU only.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/problem.h"
#include "device/device.h"
#include "device/guarded_memory.h"

namespace cudaagent::device {

// The problem's tensors by plan name. Inputs keep their addresses for the runner's lifetime:
// new contents are copied into them.
struct Bindings {
  std::map<std::string, at::Tensor> inputs;
  std::map<std::string, c10::IValue> scalars;
  std::map<std::string, at::Tensor> parameters;  // parameters, buffers and lifted constants
  // Where the caller took inputs from GuardedMemory: PlanRunner::CheckGuards() walks it too.
  std::shared_ptr<GuardedMemory> guards;
  Guard guard = Guard::kZones;  // around what the runner allocates: outputs, buffers
};

class PlanRunner {
 public:
  // Loads the module, allocates buffers on the device of the run, runs prepare steps; outputs are
  // allocated when a step first needs them (an op's result may be the output). `device` must
  // outlive the runner.
  static Checked<std::unique_ptr<PlanRunner>> Create(const candidate::ParsedCandidate& candidate,
                                                     const ProblemInfo& problem,
                                                     const Artifact& artifact, Bindings bindings,
                                                     Device& device);
  virtual ~PlanRunner() = default;

  // Fills outputs and buffers with 0xFF bytes: NaN in every floating type.
  virtual void Poison() = 0;
  // kOutOfBounds where a guard zone around an output, a buffer or a guarded input was written to
  // since the last call; the zone is then restored. kInputMutated where steps changed a prepared
  // value. Waits for the device. Memory beyond the zone may have been hit as well: on a GPU let
  // this process evaluate nothing more.
  virtual Checked<void> CheckGuards() = 0;
  // All steps once. On a GPU this enqueues; faults of kernels may show at Device::Synchronize().
  virtual Checked<void> Run() = 0;
  // GPU: warms up and captures Run() as one CUDA graph; false (with a reason in `note`) where the
  // plan cannot be captured. After success Replay() replays it.
  virtual Checked<bool> Capture(std::string* note) = 0;
  virtual Checked<void> Replay() = 0;
  // Drops the graph, unloads the module and loads it again (device globals are reset).
  virtual Checked<void> Reload() = 0;

  // What the last Run() or Replay() filled, by number. Empty before the first.
  virtual const std::vector<at::Tensor>& outputs() const = 0;
  // Device memory that one run takes at its peak beyond inputs, parameters and outputs: buffers and
  // results of ops. Known after Capture() on a GPU.
  virtual std::optional<int64_t> extra_bytes() const = 0;
  // Runs the prepare steps over the parameters as they are now: call it when they changed. Nothing
  // where the plan has none.
  virtual Checked<void> PrepareAgain() = 0;
  // What the plan's prepare steps took the last time; nullopt where it has none. They run in
  // Create() and in Reload() too.
  virtual std::optional<PrepareReport> prepared() const = 0;
  virtual std::vector<KernelResources> resources() const = 0;
  // Names of the candidate's own kernels as the device reports them (mangled).
  virtual std::vector<std::string> kernel_names() const = 0;
};

}  // namespace cudaagent::device
