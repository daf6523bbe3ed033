// A plan against a problem: names, sizes, policies. What needs a device is checked by the device.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "cudaagent/fault.h"
#include "cudaagent/problem.h"

namespace cudaagent::candidate {

// Tensors and integers of a problem as the plan's expressions see them, plus tune values.
// "$param:name" names a parameter hidden by an input of the same name.
class ProblemScope : public Scope {
 public:
  ProblemScope(const ProblemInfo& problem, std::map<std::string, int64_t> values);
  std::optional<int64_t> Value(std::string_view name) const override;
  std::optional<double> Real(std::string_view name) const override;
  const TensorInfo* Tensor(std::string_view name) const override;
  Checked<std::optional<int64_t>> MaxBlocks(const std::string& instance, int64_t threads,
                                            int64_t shared_bytes) const override;
  void SetValue(const std::string& name, int64_t value);     // counters
  void SetTensor(const std::string& name, TensorInfo info);  // buffers, op results
  // Gives max_blocks() a device to ask: (instance, threads, shared bytes) -> blocks.
  using Occupancy = std::function<Checked<int64_t>(const std::string&, int64_t, int64_t)>;
  void SetOccupancy(Occupancy occupancy) { occupancy_ = std::move(occupancy); }

 private:
  std::map<std::string, int64_t, std::less<>> values_;
  std::map<std::string, double, std::less<>> reals_;  // inputs that are no integers
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  Occupancy occupancy_;
};

// The scope of a plan's steps: the problem, the plan's default tune values, its buffers and
// prepared values (those whose shapes evaluate), and `more` ("device.sms" and its like).
// kBadCandidate where a shape is negative, too large or names something unknown.
Checked<ProblemScope> PlanScope(const Plan& plan, const ProblemInfo& problem,
                                std::map<std::string, int64_t> more = {});

// True where the "when" of a buffer or prepared value is known to be 0.
bool LeftOut(const BufferSpec& spec, const Scope& scope);

// Bytes of one element; 0 for a dtype that plans do not know.
int64_t DtypeBytes(std::string_view dtype);

// "i32", "f32", ... as plans write it.
std::string_view ScalarTypeName(ScalarType type);
// True where an integer argument of this type can hold the value ("f32" and its like: never).
bool FitsScalar(ScalarType type, int64_t value);

// Every rule that needs no device: known names, nothing written that may not be, every output
// written, `require` true, grid and block positive, kernel names present in the code.
Checked<void> ValidatePlan(const ParsedCandidate& candidate, const ProblemInfo& problem);

// The kernel step's name with tune values and {expr} template arguments put in: "f<256, 2>".
// This is the name expression given to NVRTC and the key of the compiled artifact's name map.
Checked<std::string> KernelInstance(const KernelName& name, const Scope& scope);

// Every distinct KernelInstance of the plan's kernel steps at its default tune values.
Checked<std::vector<std::string>> KernelInstances(const ParsedCandidate& candidate,
                                                  const ProblemInfo& problem);

// Checks an argument list against a demangled signature ("f<256, 2>(float4 const*, int)"):
// count, pointer or scalar, width and kind. `args` empty signature = nothing to check.
Checked<void> CheckSignature(const KernelStep& step, const std::string& demangled);

}  // namespace cudaagent::candidate
