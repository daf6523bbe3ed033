#include "candidate/validate.h"

#include <set>

#include "candidate/code_scan.h"
#include "candidate/plan_names.h"
#include "candidate/spelling.h"
#include "candidate/step_checks.h"

namespace cudaagent::candidate {
namespace {

Checked<void> CheckRequire(const Plan& plan, const PlanNames& names, const ProblemScope& scope) {
  for (size_t i = 0; i < plan.require.size(); ++i) {
    const std::string where = "require[" + std::to_string(i) + "]";
    auto value = EvaluateKnown(plan.require[i], where, names, scope);
    if (!value) return tl::unexpected(value.error());
    if (!*value) {
      return Blame(Verdict::kBadCandidate,
                   where + ": a condition uses tune names and sizes of inputs and parameters only");
    }
    if (**value == 0) {
      std::string tune;
      for (const auto& [name, number] : plan.DefaultTune()) {
        tune += (tune.empty() ? " with " : ", ") + name + " = " + std::to_string(number);
      }
      return Blame(Verdict::kBadCandidate, where + ": " + Quote(plan.require[i].text()) +
                                               " is false for this problem" + tune);
    }
  }
  return {};
}

}  // namespace

Checked<void> ValidatePlan(const ParsedCandidate& candidate, const ProblemInfo& problem) {
  const Plan& plan = candidate.plan;
  auto names = PlanNames::Create(plan, problem);
  if (!names) return tl::unexpected(names.error());
  auto scope = PlanScope(plan, problem);
  if (!scope) return tl::unexpected(scope.error());
  if (auto ok = CheckRequire(plan, *names, *scope); !ok) return ok;

  StepChecks checks(candidate, std::move(*names), *scope);
  if (auto ok = checks.Check(plan.prepare, /*preparing=*/true); !ok) return ok;
  for (const BufferSpec& each : plan.prepared) {
    if (!LeftOut(each, *scope) && !checks.written().contains(each.name)) {
      return Blame(Verdict::kBadCandidate, "prepared." + each.name +
                                               ": no prepare step makes it; pass \"$" + each.name +
                                               "\" to a kernel or bind an op's \"out\" to it");
    }
  }
  if (auto ok = checks.Check(plan.steps, /*preparing=*/false); !ok) return ok;
  for (const TensorInfo& output : problem.outputs) {
    if (!checks.written().contains(output.name)) {
      return Blame(Verdict::kBadCandidate, "the output " + Quote(output.name) +
                                               " is never written; pass \"$" + output.name +
                                               "\" to a kernel or bind an op's \"out\" to it");
    }
  }
  return {};
}

}  // namespace cudaagent::candidate
