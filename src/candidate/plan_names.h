// The names a plan may use, and what each stands for. Private to this room.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/plan.h"
#include "cudaagent/fault.h"
#include "cudaagent/problem.h"

namespace cudaagent::candidate {

enum class NameKind {
  kInput,
  kScalar,     // a non-tensor input
  kParameter,  // parameters, module buffers
  kConstant,
  kOutput,
  kBuffer,
  kPrepared,
  kResult,  // of an op
  kTune,
  kCounter,
};

// "an input", "a parameter", ...
std::string_view Describe(NameKind kind);
constexpr bool IsTensor(NameKind kind) {
  return kind != NameKind::kScalar && kind != NameKind::kTune && kind != NameKind::kCounter;
}

class PlanNames {
 public:
  // The problem's names, then the plan's own; kBadCandidate where an own name is taken.
  static Checked<PlanNames> Create(const Plan& plan, const ProblemInfo& problem);

  std::optional<NameKind> Find(std::string_view name) const;
  // Adds an own name; kBadCandidate ("<where>: ...") where it stands for something else already.
  Checked<void> Add(const std::string& name, NameKind kind, const std::string& where);
  void Remove(const std::string& name);
  // Remembers that an op step at `where` will bind `name`, for sentences.
  void AddLater(const std::string& name, const std::string& where);
  void ForgetLater() { later_.clear(); }

  // "unknown tensor \"y\"; did you mean \"x\"?", or that the name is bound only later.
  std::string Unknown(std::string_view name, bool tensor) const;

 private:
  std::map<std::string, NameKind, std::less<>> kinds_;
  std::map<std::string, std::string, std::less<>> later_;
};

}  // namespace cudaagent::candidate
