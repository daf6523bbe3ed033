// The rules for steps, applied in the order of execution. Private to this room.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "candidate/plan_names.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {

// The value of an expression all of whose names are known; nothing where it depends on a device or
// on the shape of an op's result. Faults start with "<where>: ".
Checked<std::optional<int64_t>> EvaluateKnown(const Expr& expr, const std::string& where,
                                              const PlanNames& names, const ProblemScope& scope);

class StepChecks {
 public:
  StepChecks(const ParsedCandidate& candidate, PlanNames names, ProblemScope scope);

  // prepare steps before steps; results of the former are gone for the latter.
  Checked<void> Check(const std::vector<Step>& steps, bool preparing);
  // Outputs and prepared values that some step may have written.
  const std::set<std::string>& written() const { return written_; }

 private:
  Checked<void> CheckSteps(const std::vector<Step>& steps);
  Checked<void> CheckKernel(const KernelStep& step, const std::string& where);
  Checked<void> CheckKernelName(const KernelName& name, const std::string& where);
  Checked<void> CheckPointer(const PointerArg& arg, const std::string& where);
  Checked<void> CheckScalar(const ScalarArg& arg, const std::string& where);
  Checked<void> CheckDimensions(const KernelStep& step, const std::string& where);
  Checked<void> CheckOp(const OpStep& step, const std::string& where);
  Checked<void> CheckOpValue(const OpValue& value, const std::string& where);
  Checked<void> CheckMutated(const OpValue& value, const std::string& op, const std::string& where);
  Checked<void> Bind(const std::string& name, const std::string& where);
  Checked<void> CheckRepeat(const RepeatStep& step, const std::string& where);

  // The expanded name and what it stands for.
  Checked<std::pair<std::string, NameKind>> Resolve(const TensorRef& ref, const std::string& where);
  Checked<std::optional<int64_t>> Value(const Expr& expr, const std::string& where) const;
  void RememberLater(const std::vector<Step>& steps);

  PlanNames names_;
  ProblemScope scope_;
  std::set<std::string, std::less<>> identifiers_;  // of the code
  std::vector<std::string> kernels_;
  bool pastes_ = false;  // the code makes names with ##
  bool preparing_ = false;
  int64_t visits_ = 0;
  std::set<std::string> written_;
  std::set<std::string> results_;  // bound so far in this list
};

}  // namespace cudaagent::candidate
