// CompareOutputs: one number per output decides all tiers; only a failure is looked at closely.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "util/text.h"
#include "verify/chunked_pair.h"
#include "verify/element_errors.h"
#include "verify/hints.h"
#include "verify/tiers.h"
#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

std::string DtypeName(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kShort:
      return "int16";
    case at::kChar:
      return "int8";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return util::ToLower(at::toString(tensor.scalar_type()));
  }
}

std::string ShapeText(at::IntArrayRef shape) {
  std::vector<std::string> extents;
  for (int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + util::Join(extents, ", ") + "]";
}

struct OutputErrors {
  std::string name;
  at::Tensor got, expected;
  Scale scale;
  WorstErrors worst;
  double limit = 0;  // what the deciding tier allows, as a scaled error

  bool passed() const { return worst.scaled <= limit; }
};

std::optional<Fault> FormProblem(const std::vector<at::Tensor>& got,
                                 const std::vector<at::Tensor>& expected) {
  if (got.size() != expected.size()) {
    return Fault{Verdict::kWrongResult,
                 fmt::format("The candidate has {} output(s), the reference {}.", got.size(),
                             expected.size())};
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].sizes() != expected[i].sizes()) {
      return Fault{Verdict::kWrongResult,
                   fmt::format("out{} has shape {}, the reference's has {}.", i,
                               ShapeText(got[i].sizes()), ShapeText(expected[i].sizes()))};
    }
    if (got[i].scalar_type() != expected[i].scalar_type()) {
      return Fault{Verdict::kWrongResult, fmt::format("out{} is {}, the reference's is {}.", i,
                                                      DtypeName(got[i]), DtypeName(expected[i]))};
    }
    if (got[i].device() != expected[i].device()) {
      return Fault{Verdict::kWrongResult,
                   fmt::format("out{} lies on {}, the reference's on {}.", i, got[i].device().str(),
                               expected[i].device().str())};
    }
  }
  return std::nullopt;
}

// The worst element and the number of wrong ones: a second walk, for a failed output only.
Mismatch Diagnose(const OutputErrors& output) {
  const ChunkedPair pair(output.got, output.expected);
  Mismatch mismatch;
  mismatch.output = output.name;
  mismatch.total = pair.numel();
  at::Tensor differing = at::zeros({}, output.got.options().dtype(at::kLong));
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    differing.add_(ErrorsOf(pair.At(i), output.scale).scaled.le(output.limit).logical_not_().sum());
  }
  mismatch.differing = differing.item<int64_t>();

  const ChunkedPair::Chunk chunk = pair.At(output.worst.chunk);
  ElementErrors errors = ErrorsOf(chunk, output.scale);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  errors.scaled.nan_to_num_(kInfinity, kInfinity, -kInfinity);
  // For exact types every error is as bad as another by `scaled`: take the largest difference.
  const at::Tensor& ranking = output.scale.exact ? errors.absolute : errors.scaled;
  const int64_t at = ranking.argmax().item<int64_t>();
  mismatch.index = pair.IndexOf(chunk.first + at);
  mismatch.got = chunk.got[at].to(at::kDouble).item<double>();
  mismatch.expected = chunk.expected[at].to(at::kDouble).item<double>();
  mismatch.abs_error = errors.absolute[at].item<double>();
  if (std::isnan(mismatch.abs_error)) mismatch.abs_error = kInfinity;
  mismatch.rel_error = output.scale.exact
                           ? mismatch.abs_error / std::max(1.0, std::fabs(mismatch.expected))
                           : errors.scaled[at].item<double>();
  mismatch.hint = DescribePattern(output.got, output.expected, output.scale, output.limit);
  return mismatch;
}

std::string Sentence(const Mismatch& mismatch, const OutputErrors& output,
                     const std::string& tier) {
  std::string rule = output.scale.exact
                         ? "must be equal"
                         : fmt::format("tier {}: atol {:.3g}, rtol {:.3g}", tier,
                                       output.limit * output.scale.rms, output.limit);
  std::string text = fmt::format(
      "{} is wrong in {} of {} elements ({}); the worst is at {}: got {:.7g}, expected {:.7g}",
      mismatch.output, mismatch.differing, mismatch.total, rule, ShapeText(mismatch.index),
      mismatch.got, mismatch.expected);
  return text + (mismatch.hint.empty() ? "." : "; " + mismatch.hint + ".");
}

// Every tier's account of this comparison: passed where all outputs pass, with the tolerances of
// the output whose error is largest. The TF32 allowance is the deciding tier's alone.
std::vector<TierResult> JudgeTiers(const std::vector<OutputErrors>& outputs,
                                   const std::string& tier) {
  std::vector<TierResult> results;
  for (std::string_view name : kTierNames) {
    TierResult result;
    result.name = name;
    result.passed = true;
    double largest = -1;
    for (const OutputErrors& output : outputs) {
      double limit = 0;
      if (!output.scale.exact) {
        limit = name == tier ? output.limit : *TierTolerance(name, output.expected.scalar_type());
      }
      if (!(output.worst.scaled <= limit)) result.passed = false;
      if (output.worst.scaled > largest) {
        largest = output.worst.scaled;
        result.rtol = limit;
        result.atol = limit * output.scale.rms;
      }
    }
    results.push_back(result);
  }
  return results;
}

// Keeps a tier failed once it failed, with the tolerances it failed at.
void MergeTiers(std::vector<TierResult> fresh, std::vector<TierResult>* tiers) {
  if (tiers->empty()) {
    *tiers = std::move(fresh);
    return;
  }
  for (TierResult& result : fresh) {
    for (TierResult& known : *tiers) {
      if (known.name == result.name && known.passed) known = result;
    }
  }
}

}  // namespace

Checked<void> CompareOutputs(const std::vector<at::Tensor>& got,
                             const std::vector<at::Tensor>& expected,
                             const std::vector<at::Tensor>& tf32_eager, const std::string& tier,
                             CheckReport* report) {
  const at::NoGradGuard no_grad;
  if (!TierTolerance(tier, at::kFloat)) {
    return Blame(Verdict::kInfraError,
                 fmt::format("There is no tolerance tier \"{}\"; there are kernelbench, verified "
                             "and cuda-agent.",
                             tier));
  }
  if (auto fault = FormProblem(got, expected)) return tl::unexpected<Fault>(std::move(*fault));

  std::vector<OutputErrors> outputs;
  for (size_t i = 0; i < got.size(); ++i) {
    OutputErrors output;
    output.name = fmt::format("out{}", i);
    output.got = AsReal(got[i]);
    output.expected = AsReal(expected[i]);
    const ChunkedPair pair(output.got, output.expected);
    output.scale = ScaleOf(pair);
    output.worst = FindWorst(pair, output.scale);
    if (!output.scale.exact) output.limit = *TierTolerance(tier, output.expected.scalar_type());
    if (!tf32_eager.empty() && !output.scale.exact) {
      const double own =
          FindWorst(ChunkedPair(AsReal(tf32_eager[i]), output.expected), output.scale).scaled;
      if (std::isfinite(own) && 2 * own > output.limit) {
        output.limit = 2 * own;
        report->notes.push_back(fmt::format(
            "{}: allowance {:.3g}, twice the error of eager under TF32", output.name, 2 * own));
      }
    }
    outputs.push_back(std::move(output));
  }

  MergeTiers(JudgeTiers(outputs, tier), &report->tiers);
  const OutputErrors* worst = nullptr;
  for (const OutputErrors& output : outputs) {
    report->max_abs_error = std::max(report->max_abs_error, output.worst.absolute);
    report->max_rel_error = std::max(report->max_rel_error, output.worst.scaled);
    if (!output.passed() && (!worst || output.worst.scaled > worst->worst.scaled)) worst = &output;
  }
  if (!worst) return {};
  report->mismatch = Diagnose(*worst);
  return Blame(Verdict::kWrongResult, Sentence(*report->mismatch, *worst, tier));
}

}  // namespace cudaagent::verify
