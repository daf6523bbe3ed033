#include "verify/element_errors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace cudaagent::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double SmallestNormal(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::min();
    case at::kHalf:
      return std::ldexp(1.0, -14);
    default:
      return std::numeric_limits<float>::min();  // bfloat16 has float32's exponents
  }
}

// The type errors are computed in. Magnitudes near float32's ends would overflow or vanish in
// RMS + |expected|; those rare outputs are done in float64.
at::ScalarType WorkingType(at::ScalarType dtype, const Scale& scale) {
  if (scale.exact || dtype == at::kDouble || scale.rms > 1e30 || scale.rms < 1e-30) {
    return at::kDouble;
  }
  return at::kFloat;
}

at::Tensor SumOfSquares(const at::Tensor& flat) {
  return at::linalg_vector_norm(flat.to(at::kDouble), 2).square_();
}

}  // namespace

Scale ScaleOf(const ChunkedPair& pair) {
  Scale scale;
  if (pair.numel() == 0) return scale;
  const at::Tensor first = pair.At(0).expected;
  if (!first.is_floating_point()) {
    scale.exact = true;
    return scale;
  }
  at::Tensor total = at::zeros({}, first.options().dtype(at::kDouble));
  for (int64_t i = 0; i < pair.chunks(); ++i) total.add_(SumOfSquares(pair.At(i).expected));
  double squares = total.item<double>();
  int64_t count = pair.numel();
  if (!std::isfinite(squares)) {
    scale.finite = false;
    total.zero_();
    at::Tensor finite_count = at::zeros({}, first.options().dtype(at::kLong));
    for (int64_t i = 0; i < pair.chunks(); ++i) {
      const at::Tensor expected = pair.At(i).expected;
      const at::Tensor finite = expected.isfinite();
      finite_count.add_(finite.sum());
      total.add_(SumOfSquares(expected.masked_fill(finite.logical_not(), 0)));
    }
    squares = total.item<double>();
    count = std::max<int64_t>(1, finite_count.item<int64_t>());
  }
  scale.rms = std::max(std::sqrt(squares / static_cast<double>(count)),
                       SmallestNormal(first.scalar_type()));
  return scale;
}

bool AllFinite(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.is_floating_point() && !ScaleOf(ChunkedPair(tensor, tensor)).finite) return false;
  }
  return true;
}

at::Tensor AsReal(const at::Tensor& tensor) {
  return tensor.is_complex() ? at::view_as_real(tensor) : tensor;
}

ElementErrors ErrorsOf(const ChunkedPair::Chunk& chunk, const Scale& scale) {
  const at::ScalarType type = WorkingType(chunk.expected.scalar_type(), scale);
  const at::Tensor expected = chunk.expected.to(type);
  ElementErrors errors;
  errors.absolute = at::sub(chunk.got.to(type), expected).abs_();
  if (scale.exact) {
    errors.scaled = chunk.got.ne(chunk.expected).to(type);
    return errors;
  }
  if (!scale.finite) {
    // NaN equals NaN, an infinity equals itself; what is left over is NaN or infinite by itself.
    const at::Tensor special = expected.isfinite().logical_not_();
    const at::Tensor same =
        chunk.got.eq(chunk.expected).logical_or_(chunk.got.isnan().logical_and_(expected.isnan()));
    errors.absolute.masked_fill_(special.logical_and(same), 0);
    errors.absolute.masked_fill_(special.logical_and_(same.logical_not()), kInfinity);
    at::Tensor range = expected.abs().add_(scale.rms);
    range.masked_fill_(expected.isfinite().logical_not_(), 1);
    errors.scaled = at::div(errors.absolute, range);
  } else {
    errors.scaled = at::div(errors.absolute, expected.abs().add_(scale.rms));
  }
  return errors;
}

WorstErrors FindWorst(const ChunkedPair& pair, const Scale& scale) {
  WorstErrors worst;
  if (pair.numel() == 0) return worst;
  // Maxima stay on the device until the end: one wait for the whole output.
  std::vector<at::Tensor> absolute_maxima, scaled_maxima;
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    const ElementErrors errors = ErrorsOf(pair.At(i), scale);
    absolute_maxima.push_back(errors.absolute.max());
    scaled_maxima.push_back(errors.scaled.max());
  }
  const at::Tensor maxima =
      at::stack({at::stack(absolute_maxima), at::stack(scaled_maxima)}).to(at::kDouble).cpu();
  const auto values = maxima.accessor<double, 2>();
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    const double absolute = std::isnan(values[0][i]) ? kInfinity : values[0][i];
    const double scaled = std::isnan(values[1][i]) ? kInfinity : values[1][i];
    worst.absolute = std::max(worst.absolute, absolute);
    if (scaled > worst.scaled) {
      worst.scaled = scaled;
      worst.chunk = i;
    }
  }
  return worst;
}

}  // namespace cudaagent::verify
