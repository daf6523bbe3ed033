#include "reward/comparison.h"

#include <cmath>

namespace cudaagent::reward {
namespace {

Result<void> CheckComparable(const Evaluation& a, const Evaluation& b) {
  const auto differ = [](const std::string& what, const std::string& first,
                         const std::string& second) -> Result<void> {
    return Fail(ErrorCode::kUsage, "The two cannot be compared: " + what + " is " +
                                       (first.empty() ? "unknown" : first) + " in the first and " +
                                       (second.empty() ? "unknown" : second) +
                                       " in the second. Evaluate both under the same conditions.");
  };
  for (const Evaluation* each : {&a, &b}) {
    if (each->verdict == Verdict::kOk && each->candidate) continue;
    return Fail(ErrorCode::kUsage, std::string("The ") + (each == &a ? "first" : "second") +
                                       " has no time to compare: its verdict is " +
                                       std::string(cudaagent::ToString(each->verdict)) + ".");
  }
  if (a.problem_hash != b.problem_hash) {
    return differ("the problem (model.py with its constants, class, dtype and mode, as a hash)",
                  a.problem_hash.substr(0, 8), b.problem_hash.substr(0, 8));
  }
  const auto device = [](const Evaluation& e) {
    return e.device.uuid.empty() ? e.device.name : e.device.uuid;
  };
  if (device(a) != device(b)) return differ("the device", device(a), device(b));
  if (a.protocol.precision != b.protocol.precision) {
    return differ("the precision", a.protocol.precision, b.protocol.precision);
  }
  if (a.protocol.cold_l2 != b.protocol.cold_l2) {
    return differ("the L2 cache", a.protocol.cold_l2 ? "cold" : "warm",
                  b.protocol.cold_l2 ? "cold" : "warm");
  }
  if (a.estimated != b.estimated) {
    return differ("the time", a.estimated ? "estimated" : "measured",
                  b.estimated ? "estimated" : "measured");
  }
  return {};
}

// numerator / denominator, both positive with intervals.
Speedup Divide(const Speedup& numerator, const Speedup& denominator) {
  const double value = std::log(numerator.value / denominator.value);
  const double below = std::hypot(std::log(numerator.value / numerator.low),
                                  std::log(denominator.high / denominator.value));
  const double above = std::hypot(std::log(numerator.high / numerator.value),
                                  std::log(denominator.value / denominator.low));
  return {std::exp(value), std::exp(value - below), std::exp(value + above)};
}

Speedup Of(const Timing& t) { return {t.median_ms, t.ci_low_ms, t.ci_high_ms}; }

bool Usable(const Speedup& s) {
  return s.low > 0 && s.value >= s.low && s.high >= s.value && std::isfinite(s.high);
}

}  // namespace

const char* ToString(Relation relation) {
  switch (relation) {
    case Relation::kFaster:
      return "faster";
    case Relation::kSlower:
      return "slower";
    case Relation::kSame:
      return "same";
    case Relation::kUnsure:
      return "unsure";
  }
  return "unsure";
}

Result<Comparison> Compare(const Evaluation& a, const Evaluation& b, double margin) {
  if (auto comparable = CheckComparable(a, b); !comparable) {
    return tl::unexpected(comparable.error());
  }
  Comparison comparison;
  comparison.estimated = a.estimated;
  comparison.by_eager = !a.estimated && a.speedup_eager && b.speedup_eager &&
                        Usable(*a.speedup_eager) && Usable(*b.speedup_eager);
  const Speedup first = comparison.by_eager ? *a.speedup_eager : Of(*b.candidate);
  const Speedup second = comparison.by_eager ? *b.speedup_eager : Of(*a.candidate);
  if (!Usable(first) || !Usable(second)) {
    return Fail(ErrorCode::kUsage,
                "The two cannot be compared: a time is zero or has no interval.");
  }
  comparison.ratio = Divide(first, second);
  const double slack = a.estimated ? 0 : margin;
  if (comparison.ratio.low > 1 + slack) {
    comparison.relation = Relation::kFaster;
  } else if (comparison.ratio.high < 1 / (1 + slack)) {
    comparison.relation = Relation::kSlower;
  } else if (comparison.ratio.low >= 1 / (1 + slack) && comparison.ratio.high <= 1 + slack) {
    comparison.relation = Relation::kSame;
  }
  return comparison;
}

}  // namespace cudaagent::reward
