// Every name of a plan and what it stands for at this moment: inputs, parameters, buffers, outputs
// and the results of ops.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "candidate/validate.h"
#include "cudaagent/fault.h"
#include "cudaagent/problem.h"
#include "device/device.h"
#include "device/guarded_memory.h"
#include "device/op_values.h"
#include "device/plan_runner.h"

namespace cudaagent::device {

class NameTable : public OpScope {
 public:
  // kInfraError where a tensor of the problem has no binding.
  static Checked<std::unique_ptr<NameTable>> Create(const candidate::Plan& plan,
                                                    const ProblemInfo& problem, Bindings bindings,
                                                    const Limits& limits, at::Device device);

  // ---- OpScope ----
  Checked<c10::IValue> Find(const std::string& name) override;
  const candidate::Scope& values() const override { return scope_; }
  at::Device device() const override { return device_; }
  std::string ProtectedName(const at::Tensor& tensor) const override;

  // As Find(), for tensors only. An output not yet bound is allocated, guarded and poisoned.
  Checked<at::Tensor> Tensor(const std::string& name);
  // Gives an op's result a name. An output must match the reference's shape, dtype and strides.
  Checked<void> Bind(const std::string& name, const at::Tensor& tensor);
  void SetCounter(const std::string& name, int64_t value) { scope_.SetValue(name, value); }

  // Allocates a buffer; `zero` ones are filled by ZeroBuffers().
  Checked<void> AddBuffer(const candidate::BufferSpec& spec, const std::string& where);
  // Allocates a prepared value: written between BeginPrepare() and EndPrepare(), read-only after.
  // An op's result bound to its name is copied into it.
  Checked<void> AddPrepared(const candidate::BufferSpec& spec, const std::string& where);
  void BeginPrepare();
  void EndPrepare();
  // kInputMutated where one differs from what it was at EndPrepare().
  Checked<void> CheckPrepared() const;
  int64_t PreparedBytes() const;
  void SetOccupancy(candidate::ProblemScope::Occupancy occupancy) {
    scope_.SetOccupancy(std::move(occupancy));
  }
  void ZeroBuffers();

  // Forgets results of ops and outputs bound by them; allocated outputs are bound again.
  void BeginRun();
  // Forgets results of ops whose name `is_dead`: their memory is free for later steps.
  void Drop(const std::function<bool(const std::string&)>& is_dead);
  // The outputs by number; kBadCandidate where one is unbound.
  Checked<std::vector<at::Tensor>> Outputs();
  // Fills allocated outputs and buffers with 0xFF.
  void Poison();
  // False for an output that an op's result became.
  bool IsAllocatedOutput(const at::Tensor& tensor) const;

  // What kernels may touch now. Output and buffers hold no value yet but for those in `written`.
  std::vector<MemoryRegion> Regions(const std::set<std::string>& written) const;
  // Changes whenever a name is bound to other memory.
  int64_t generation() const { return generation_; }

  // Of buffers and of outputs allocated here, guard zones left out; of all outputs.
  int64_t OwnBytes() const;
  int64_t OutputBytes() const;

  GuardedMemory& guards() { return guards_; }
  GuardedMemory* input_guards() { return bindings_.guards.get(); }

 private:
  enum class Kind { kReadOnly, kStatistic, kPrepared, kBuffer, kOutput, kResult };
  struct Entry {
    at::Tensor tensor;
    Kind kind = Kind::kReadOnly;
  };
  struct Output {
    TensorInfo info;
    at::Tensor allocated;  // undefined until a step needs it
  };

  NameTable(const ProblemInfo& problem, std::map<std::string, int64_t> values, Bindings bindings,
            at::Device device);
  Checked<void> BindProblem(const ProblemInfo& problem);
  Checked<void> Allocate(const candidate::BufferSpec& spec, const std::string& where, Kind kind);
  Checked<at::Tensor> AllocateOutput(const std::string& name);
  void Set(const std::string& name, const at::Tensor& tensor, Kind kind);

  candidate::ProblemScope scope_;
  Bindings bindings_;
  at::Device device_;
  GuardedMemory guards_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Output> outputs_;
  std::vector<std::string> output_order_;
  std::vector<at::Tensor> zeroed_;
  std::map<std::string, at::Tensor> prepared_copies_;  // as they were at EndPrepare()
  bool preparing_ = false;
  int64_t generation_ = 0;
};

}  // namespace cudaagent::device
