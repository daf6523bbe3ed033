#include "verify/strict.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "verify/chunked_pair.h"
#include "verify/element_errors.h"

namespace cudaagent::verify {
namespace {

constexpr double kTimesEager = 4;
constexpr double kUlps = 8;

double Epsilon(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::ldexp(1.0, -52);
    case at::kHalf:
      return std::ldexp(1.0, -10);
    case at::kBFloat16:
      return std::ldexp(1.0, -7);
    default:
      return std::ldexp(1.0, -23);
  }
}

}  // namespace

double EagerError(const std::vector<at::Tensor>& eager, const std::vector<at::Tensor>& exact) {
  const at::NoGradGuard no_grad;
  double largest = 0;
  for (size_t i = 0; i < eager.size() && i < exact.size(); ++i) {
    const ChunkedPair pair(AsReal(eager[i]), AsReal(exact[i]));
    largest = std::max(largest, FindWorst(pair, ScaleOf(pair)).scaled);
  }
  return largest;
}

TierResult JudgeStrict(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& eager,
                       const std::vector<at::Tensor>& exact, std::string* sentence) {
  const at::NoGradGuard no_grad;
  sentence->clear();
  TierResult result;
  result.name = "strict";
  result.passed = true;
  double worst_excess = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const ChunkedPair pair(AsReal(got[i]), AsReal(exact[i]));
    const Scale scale = ScaleOf(pair);
    const double ours = FindWorst(pair, scale).scaled;
    const double theirs = FindWorst(ChunkedPair(AsReal(eager[i]), AsReal(exact[i])), scale).scaled;
    const double limit =
        scale.exact ? 0 : std::max(kTimesEager * theirs, kUlps * Epsilon(got[i].scalar_type()));
    const double excess = ours <= limit ? 0 : ours / std::max(limit, 1e-300);
    if (i == 0 || excess > worst_excess) {
      result.rtol = limit;
      result.atol = limit * scale.rms;
    }
    if (ours <= limit) continue;
    result.passed = false;
    if (excess <= worst_excess) continue;
    worst_excess = excess;
    *sentence = fmt::format(
        "out{} is {:.3g} from the float64 reference (scaled error), and eager only {:.3g}; tier "
        "strict allows {:.3g}",
        i, ours, theirs, limit);
  }
  return result;
}

}  // namespace cudaagent::verify
