#include "candidate/plan_names.h"

#include "candidate/spelling.h"

namespace cudaagent::candidate {

std::string_view Describe(NameKind kind) {
  switch (kind) {
    case NameKind::kInput:
      return "an input";
    case NameKind::kScalar:
      return "a non-tensor input";
    case NameKind::kParameter:
      return "a parameter";
    case NameKind::kConstant:
      return "a constant";
    case NameKind::kOutput:
      return "an output";
    case NameKind::kBuffer:
      return "a buffer";
    case NameKind::kPrepared:
      return "a prepared value";
    case NameKind::kResult:
      return "an op's result";
    case NameKind::kTune:
      return "a tune name";
    default:
      return "a repeat's counter";
  }
}

Checked<PlanNames> PlanNames::Create(const Plan& plan, const ProblemInfo& problem) {
  PlanNames names;
  for (const TensorInfo& each : problem.outputs) names.kinds_[each.name] = NameKind::kOutput;
  for (const TensorInfo& each : problem.constants) names.kinds_[each.name] = NameKind::kConstant;
  for (const TensorInfo& each : problem.parameters) {
    names.kinds_[each.name] = NameKind::kParameter;
    names.kinds_["param:" + each.name] = NameKind::kParameter;
  }
  for (const TensorInfo& each : problem.inputs) names.kinds_[each.name] = NameKind::kInput;
  for (const ScalarInput& each : problem.scalars) names.kinds_[each.name] = NameKind::kScalar;
  for (const auto& [name, values] : plan.tune) {
    if (auto ok = names.Add(name, NameKind::kTune, "tune." + name); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  for (const BufferSpec& each : plan.buffers) {
    if (auto ok = names.Add(each.name, NameKind::kBuffer, "buffers." + each.name); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  for (const BufferSpec& each : plan.prepared) {
    if (auto ok = names.Add(each.name, NameKind::kPrepared, "prepared." + each.name); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return names;
}

std::optional<NameKind> PlanNames::Find(std::string_view name) const {
  auto found = kinds_.find(name);
  return found == kinds_.end() ? std::nullopt : std::optional(found->second);
}

Checked<void> PlanNames::Add(const std::string& name, NameKind kind, const std::string& where) {
  auto [entry, added] = kinds_.emplace(name, kind);
  if (added || (entry->second == kind && kind == NameKind::kResult)) return {};
  return Blame(Verdict::kBadCandidate, where + ": the name " + Quote(name) + " is " +
                                           std::string(Describe(entry->second)) +
                                           " already; choose a new one");
}

void PlanNames::Remove(const std::string& name) { kinds_.erase(name); }

void PlanNames::AddLater(const std::string& name, const std::string& where) {
  later_.emplace(name, where);
}

std::string PlanNames::Unknown(std::string_view name, bool tensor) const {
  if (auto later = later_.find(name); later != later_.end()) {
    return Quote(name) + " has no value yet; " + later->second + " binds it later";
  }
  std::vector<std::string> known;
  for (const auto& [each, kind] : kinds_) {
    if (IsTensor(kind) == tensor && !each.starts_with("param:")) known.push_back(each);
  }
  return std::string(tensor ? "unknown tensor " : "unknown name ") + Quote(name) +
         Suggest(name, known);
}

}  // namespace cudaagent::candidate
