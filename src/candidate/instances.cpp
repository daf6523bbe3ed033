// Which instances of which kernels a plan launches.
#include <algorithm>
#include <set>

#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

constexpr size_t kMaxInstances = 256;
constexpr int64_t kMaxPasses = 1'000'000;

class Collector {
 public:
  explicit Collector(ProblemScope scope) : scope_(std::move(scope)) {}

  Checked<void> Visit(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      // A condition that needs a device or an op's result may turn out either way.
      const auto when = step.when ? step.when->Evaluate(scope_) : Checked<int64_t>(1);
      if (when && *when == 0) continue;
      if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
        if (auto ok = Add(*kernel, step.where); !ok) return ok;
      } else if (const auto* repeat = std::get_if<RepeatStep>(&step.what)) {
        if (auto ok = VisitRepeat(*repeat, step.where); !ok) return ok;
      }
    }
    return {};
  }
  std::vector<std::string> Take() { return std::move(instances_); }

 private:
  Checked<void> Add(const KernelStep& kernel, const std::string& where) {
    auto instance = KernelInstance(kernel.kernel, scope_);
    if (!instance) {
      return Blame(Verdict::kBadCandidate,
                   where + ".kernel: " + instance.error().message +
                       "; template arguments use tune names, counters and sizes of inputs, "
                       "parameters and buffers");
    }
    if (!seen_.insert(*instance).second) return {};
    if (instances_.size() == kMaxInstances) {
      return Blame(Verdict::kBadCandidate, where + ".kernel: the plan needs more than " +
                                               std::to_string(kMaxInstances) + " kernels");
    }
    instances_.push_back(*instance);
    return {};
  }

  // A body is walked again only where the counter can matter to a kernel's name.
  Checked<void> VisitRepeat(const RepeatStep& repeat, const std::string& where) {
    int64_t first = 0;
    int64_t passes = 1;
    if (NamesDependOnScope(repeat.steps)) {
      auto from = repeat.from.Evaluate(scope_);
      auto count = repeat.count.Evaluate(scope_);
      if (!from) return Blame(Verdict::kBadCandidate, where + ".from: " + from.error().message);
      if (!count) return Blame(Verdict::kBadCandidate, where + ".count: " + count.error().message);
      first = *from;
      passes = *count;
      int64_t last = 0;
      if (passes > kMaxPasses || __builtin_add_overflow(first, passes, &last)) {
        return Blame(Verdict::kBadCandidate, where + ".count: more than 1000000 passes");
      }
    }
    for (int64_t pass = 0; pass < passes; ++pass) {
      if (++visits_ > kMaxPasses) {
        return Blame(Verdict::kBadCandidate, where + ": nested repeats make too many passes");
      }
      scope_.SetValue(repeat.counter, first + pass);
      if (auto ok = Visit(repeat.steps); !ok) return ok;
    }
    return {};
  }

  static bool NamesDependOnScope(const std::vector<Step>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
      if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
        return !kernel->kernel.template_args.empty();
      }
      const auto* repeat = std::get_if<RepeatStep>(&step.what);
      return repeat && NamesDependOnScope(repeat->steps);
    });
  }

  ProblemScope scope_;
  std::set<std::string> seen_;
  std::vector<std::string> instances_;
  int64_t visits_ = 0;
};

}  // namespace

Checked<std::vector<std::string>> KernelInstances(const ParsedCandidate& candidate,
                                                  const ProblemInfo& problem) {
  auto scope = PlanScope(candidate.plan, problem);
  if (!scope) return tl::unexpected(scope.error());
  Collector collector(std::move(*scope));
  if (auto ok = collector.Visit(candidate.plan.prepare); !ok) return tl::unexpected(ok.error());
  if (auto ok = collector.Visit(candidate.plan.steps); !ok) return tl::unexpected(ok.error());
  return collector.Take();
}

}  // namespace cudaagent::candidate
