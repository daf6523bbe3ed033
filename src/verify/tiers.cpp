#include "verify/tiers.h"

namespace cudaagent::verify {

std::optional<double> TierTolerance(std::string_view tier, c10::ScalarType dtype) {
  const bool wide = dtype == c10::kFloat || dtype == c10::kDouble || dtype == c10::kComplexFloat ||
                    dtype == c10::kComplexDouble;
  if (tier == "cuda-agent") return 1e-2;
  if (tier == "kernelbench") return wide ? 1e-4 : 1e-2;
  if (tier == "verified") return wide ? 1e-3 : dtype == c10::kHalf ? 2e-3 : 1.6e-2;
  return std::nullopt;
}

}  // namespace cudaagent::verify
