#include "reward/reward.h"

#include <algorithm>
#include <cmath>

namespace cudaagent::reward {
namespace {

bool CarriesReward(Verdict verdict) {
  return verdict != Verdict::kInfraError && verdict != Verdict::kUnsupported;
}

double Milestone(const Evaluation& e, bool on_median) {
  if (e.verdict != Verdict::kOk) return -1;
  if (!e.degenerate.empty()) return 1;
  auto significant = [on_median](const std::optional<Speedup>& speedup) {
    return speedup && (on_median ? speedup->value : speedup->low) > kSignificantSpeedup;
  };
  if (!significant(e.speedup_eager)) return 1;
  return significant(e.speedup_compile) ? 3 : 2;
}

double LogSpeedup(const Evaluation& e) {
  if (e.verdict != Verdict::kOk) return -1;
  auto speedup = DecidingSpeedup(e);
  if (!e.degenerate.empty() || !speedup || (speedup->low <= 1 && speedup->high >= 1)) return 0;
  return std::log(speedup->value);
}

double Weighted(const Evaluation& e) {
  if (e.verdict == Verdict::kBadCandidate || e.verdict == Verdict::kCompileFailed) return -0.5;
  if (e.verdict != Verdict::kOk) return -0.3;
  const auto measured = DecidingSpeedup(e);
  double speedup = measured ? std::clamp(measured->value, 0.0, 3.0) : 0;
  if (!e.degenerate.empty()) speedup = std::min(speedup, 1.0);
  const double penalty = measured && measured->value < 1 ? 0.1 : 0;
  return 0.3 + 0.4 + 0.3 * speedup - penalty;
}

}  // namespace

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = {
      "milestone", "milestone-paper", "log-speedup", "speedup", "fast1", "weighted", "sol"};
  return names;
}

std::optional<Speedup> DecidingSpeedup(const Evaluation& e) {
  if (e.protocol.baseline == "compile" && e.speedup_compile) return e.speedup_compile;
  return e.speedup_eager;
}

std::optional<double> Compute(std::string_view name, const Evaluation& e) {
  if (!CarriesReward(e.verdict)) return std::nullopt;
  const bool ok = e.verdict == Verdict::kOk;
  if (name == "milestone") return Milestone(e, false);
  if (name == "milestone-paper") return Milestone(e, true);
  if (name == "log-speedup") return LogSpeedup(e);
  if (name == "weighted") return Weighted(e);
  auto speedup = DecidingSpeedup(e);
  const bool can_win = e.degenerate.empty();
  if (name == "speedup") {
    if (!ok || !speedup) return 0;
    return can_win ? speedup->value : std::min(speedup->value, 1.0);
  }
  if (name == "sol") return ok && can_win && e.sol ? std::min(*e.sol, 1.0) : 0;
  if (name == "fast1") return ok && can_win && speedup && speedup->low > 1 ? 1 : 0;
  return std::nullopt;
}

}  // namespace cudaagent::reward
