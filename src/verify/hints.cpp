#include "verify/hints.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "verify/chunked_pair.h"

namespace cudaagent::verify {
namespace {

// Sums over one pair of tensors, in float64.
struct Totals {
  int64_t nans = 0;   // in got
  int64_t zeros = 0;  // in got
  double got_min = 0, got_max = 0;
  double got = 0, expected = 0;     // sums
  double product = 0, squares = 0;  // of got * expected, of expected squared
};

Totals SumUp(const ChunkedPair& pair) {
  at::Tensor sums = at::zeros({6}, pair.At(0).got.options().dtype(at::kDouble));
  std::vector<at::Tensor> lows, highs;
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    const ChunkedPair::Chunk chunk = pair.At(i);
    const at::Tensor got = chunk.got.to(at::kDouble);
    const at::Tensor expected = chunk.expected.to(at::kDouble);
    sums.add_(
        at::stack({got.isnan().sum().to(at::kDouble), got.eq(0).sum().to(at::kDouble), got.sum(),
                   expected.sum(), at::dot(got, expected), at::dot(expected, expected)}));
    lows.push_back(got.min());
    highs.push_back(got.max());
  }
  sums = sums.cpu();
  const auto values = sums.accessor<double, 1>();
  Totals totals;
  totals.nans = static_cast<int64_t>(values[0]);
  totals.zeros = static_cast<int64_t>(values[1]);
  totals.got = values[2];
  totals.expected = values[3];
  totals.product = values[4];
  totals.squares = values[5];
  totals.got_min = at::stack(lows).min().item<double>();
  totals.got_max = at::stack(highs).max().item<double>();
  return totals;
}

// Whether got = factor * expected + offset everywhere, as exactly as a right result is right.
bool IsAffine(const ChunkedPair& pair, const Scale& scale, double limit, double factor,
              double offset) {
  const double slack = std::max(limit, 1e-6) * std::max(1.0, std::fabs(factor));
  at::Tensor wrong = at::zeros({}, pair.At(0).got.options().dtype(at::kBool));
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    const ChunkedPair::Chunk chunk = pair.At(i);
    const at::Tensor expected = chunk.expected.to(at::kDouble);
    const at::Tensor error = chunk.got.to(at::kDouble).sub_(expected * factor).sub_(offset).abs_();
    wrong.logical_or_(error.le(expected.abs().add_(scale.rms).mul_(slack)).logical_not_().any());
  }
  return !wrong.item<bool>();
}

// The last two dimensions swapped: written as if the result were its own transpose.
bool IsTransposed(const at::Tensor& got, const at::Tensor& expected, const Scale& scale,
                  double limit) {
  const int64_t dims = expected.dim();
  if (dims < 2 || expected.size(-1) < 2 || expected.size(-2) < 2 || !got.is_contiguous()) {
    return false;
  }
  const at::Tensor swapped = expected.transpose(-1, -2);
  const ChunkedPair pair(got.view(swapped.sizes()), swapped);
  const WorstErrors worst = FindWorst(pair, scale);
  return worst.scaled <= limit;
}

std::string DimensionNoun(int64_t dim, int64_t dims) {
  if (dims == 1) return "element";
  if (dims == 2) return dim == 0 ? "row" : "column";
  return fmt::format("slice of dimension {}", dim);
}

std::string Plural(const std::string& noun) {
  return noun.rfind("slice", 0) == 0 ? "slices" + noun.substr(5) : noun + "s";
}

// How many flags are set, and the first and the last of them. In chunks: a sum of booleans, and a
// flip, would copy the whole.
struct Extent {
  int64_t count = 0, first = 0, last = 0;
};
Extent ExtentOf(const at::Tensor& flags) {
  const ChunkedPair pair(flags, flags);
  std::vector<at::Tensor> found;
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    const at::Tensor part = pair.At(i).got.view(at::kByte);
    found.push_back(at::stack({part.sum(), part.argmax(), part.flip(0).argmax()}));
  }
  const at::Tensor table = at::stack(found).cpu();
  const auto values = table.accessor<int64_t, 2>();
  Extent extent;
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    if (values[i][0] == 0) continue;
    const ChunkedPair::Chunk chunk = pair.At(i);
    if (extent.count == 0) extent.first = chunk.first + values[i][1];
    extent.last = chunk.first + chunk.got.size(0) - 1 - values[i][2];
    extent.count += values[i][0];
  }
  return extent;
}

// Where along one dimension the wrong elements lie, if they lie together at an end or in one place.
std::optional<std::string> DescribeDimension(const at::Tensor& wrong, int64_t dim, bool all_nan) {
  const int64_t extent = wrong.size(dim);
  if (extent < 2) return std::nullopt;
  std::vector<int64_t> others;
  for (int64_t d = 0; d < wrong.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  const at::Tensor any = others.empty() ? wrong : wrong.any(at::IntArrayRef(others));
  const auto [count, first, last] = ExtentOf(any);
  if (count == extent || last - first + 1 != count) return std::nullopt;

  const std::string noun = DimensionNoun(dim, wrong.dim());
  const std::string nouns = Plural(noun);
  const char* verb = all_nan ? "NaN" : "wrong";
  const at::Tensor part = wrong.narrow(dim, first, count);
  const bool mostly = ExtentOf(part).count * 2 >= part.numel();
  if (count == 1 && last < extent - 1) {
    return fmt::format("only {} {} is {}", noun, first, verb);
  }
  if (last == extent - 1) {
    // A short end reads best as "the last k", a long one by the place where it begins.
    if (count * 4 <= extent) {
      return count == 1 ? fmt::format("only the last {} is {}", noun, verb)
                        : fmt::format("only the last {} {} are {}", count, nouns, verb);
    }
    return mostly ? fmt::format("all {} after {} are {}", nouns, first - 1, verb)
                  : fmt::format("errors lie only in {} after {}", nouns, first - 1);
  }
  if (first == 0) return fmt::format("only the first {} {} are {}", count, nouns, verb);
  return fmt::format("only {} {} to {} are {}", nouns, first, last, verb);
}

std::string DescribePlace(const ChunkedPair& pair, const Scale& scale, double limit) {
  at::Tensor walked = at::empty({pair.numel()}, pair.At(0).got.options().dtype(at::kBool));
  at::Tensor nans = at::zeros({}, walked.options().dtype(at::kLong));
  for (int64_t i = 0; i < pair.chunks(); ++i) {
    const ChunkedPair::Chunk chunk = pair.At(i);
    at::Tensor part = walked.narrow(0, chunk.first, chunk.got.size(0));
    part.copy_(ErrorsOf(chunk, scale).scaled.le(limit).logical_not_());
    if (!scale.exact) nans.add_(chunk.got.isnan().logical_and_(part).sum());
  }
  const at::Tensor wrong = pair.InShape(walked);
  const int64_t count = ExtentOf(walked).count;
  const bool all_nan = count > 0 && nans.item<int64_t>() == count;
  for (int64_t dim = 0; dim < wrong.dim(); ++dim) {
    if (auto text = DescribeDimension(wrong, dim, all_nan)) {
      return all_nan ? *text + ": they were never written" : *text;
    }
  }
  if (all_nan && wrong.is_contiguous()) {
    // No whole rows or columns, but one stretch up to the end: the last tile.
    const Extent extent = ExtentOf(walked);
    if (extent.first + count == pair.numel()) {
      return fmt::format("NaN in the last tile: the last {} elements were never written", count);
    }
  }
  if (all_nan) return "the wrong elements are all NaN: they were never written, or computed as NaN";
  return "";
}

}  // namespace

std::string DescribePattern(const at::Tensor& got, const at::Tensor& expected, const Scale& scale,
                            double limit) {
  const ChunkedPair pair(got, expected);
  if (pair.numel() == 0) return "";
  const Totals totals = SumUp(pair);
  const int64_t numel = pair.numel();
  if (totals.nans == numel) return "every element is NaN: the output was never written";
  if (totals.zeros == numel) return "the output is all zeros";
  if (totals.nans == 0 && totals.got_min == totals.got_max && numel > 1) {
    const bool unwritten = scale.exact && (totals.got_max == -1 || totals.got_max == 255);
    return unwritten ? "every byte is 0xFF: the output was never written"
                     : fmt::format("every element is {:.6g}", totals.got_max);
  }
  const bool finite = scale.finite && totals.nans == 0 && std::isfinite(totals.product);
  if (finite && totals.squares > 0) {
    const double factor = totals.product / totals.squares;
    if (IsAffine(pair, scale, limit, factor, 0)) {
      return factor < 0 && std::fabs(factor + 1) <= limit
                 ? "the sign of every element is flipped"
                 : fmt::format("all elements are off by the constant factor {:#.4g}", factor);
    }
    const double offset = (totals.got - totals.expected) / static_cast<double>(numel);
    if (IsAffine(pair, scale, limit, 1, offset)) {
      return fmt::format("all elements are off by the constant offset {:.4g}", offset);
    }
  }
  if (IsTransposed(got, expected, scale, limit)) {
    return "the output looks transposed in its last two dimensions";
  }
  return DescribePlace(pair, scale, limit);
}

}  // namespace cudaagent::verify
