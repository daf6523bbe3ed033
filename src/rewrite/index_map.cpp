#include "rewrite/index_map.h"

#include <algorithm>
#include <numeric>

namespace cudaagent::rewrite {

Coordinates LinearCoordinates(const std::vector<int64_t>& shape, int64_t divisor) {
  Coordinates coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coordinates[d] = {divisor, shape[d]};
    divisor *= shape[d];
  }
  return coordinates;
}

std::optional<Coordinates> MemoryCoordinates(const std::vector<int64_t>& shape,
                                             const std::vector<int64_t>& strides) {
  Coordinates coordinates(shape.size());
  std::vector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    coordinates[d] = {strides[d], shape[d]};
    order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (size_t d : order) {
    if (strides[d] != expected) return std::nullopt;
    expected *= shape[d];
  }
  return coordinates;
}

std::optional<Coordinates> BroadcastCoordinates(const Coordinates& coordinates,
                                                const std::vector<int64_t>& shape) {
  if (shape.size() > coordinates.size()) return std::nullopt;
  Coordinates result(shape.size());
  const size_t shift = coordinates.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;  // stays at 0
    if (shape[d] != coordinates[d + shift].extent) return std::nullopt;
    result[d] = coordinates[d + shift];
  }
  return result;
}

std::vector<IndexTerm> OffsetTerms(const Coordinates& coordinates,
                                   const std::vector<int64_t>& strides) {
  std::vector<IndexTerm> terms;  // innermost first
  for (size_t d = coordinates.size(); d-- > 0;) {
    const auto& [div, extent] = coordinates[d];
    if (extent == 1 || strides[d] == 0) continue;
    if (!terms.empty()) {
      IndexTerm& inner = terms.back();
      if (strides[d] == inner.stride * inner.mod && div == inner.div * inner.mod) {
        inner.mod *= extent;
        continue;
      }
    }
    terms.push_back({div, extent, strides[d]});
  }
  return terms;
}

std::optional<int64_t> LinearDivisor(const Coordinates& coordinates) {
  std::vector<int64_t> strides(coordinates.size());
  int64_t numel = 1;
  for (size_t d = coordinates.size(); d-- > 0;) {
    strides[d] = numel;
    numel *= coordinates[d].extent;
  }
  if (numel == 1) return 1;
  std::vector<IndexTerm> terms = OffsetTerms(coordinates, strides);
  if (terms.size() != 1 || terms[0].stride != 1) return std::nullopt;
  return terms[0].div;
}

int64_t Granularity(const std::vector<IndexTerm>& terms) {
  int64_t granularity = 0;
  for (const IndexTerm& term : terms) granularity = std::gcd(granularity, term.div);
  return granularity;
}

int64_t MaxOffset(const std::vector<IndexTerm>& terms) {
  int64_t offset = 0;
  for (const IndexTerm& term : terms) offset += (term.mod - 1) * term.stride;
  return offset;
}

namespace {

std::string TermText(const IndexTerm& term, const IndexNames& names) {
  std::string text = names.index;
  int64_t div = term.div;
  const int64_t period = term.div * term.mod;
  bool wraps = names.space == 0 || period < names.space;
  if (names.row_length > 0 && names.row_length % period == 0) {
    text = names.column;
    wraps = period < names.row_length;
  } else if (names.row_length > 0 && div % names.row_length == 0) {
    text = names.row;
    div /= names.row_length;
  }
  if (div != 1) text += " / " + std::to_string(div);
  if (wraps) text += " % " + std::to_string(term.mod);
  if (term.stride != 1) text += " * " + std::to_string(term.stride);
  return text;
}

}  // namespace

std::string OffsetText(const std::vector<IndexTerm>& terms, const IndexNames& names) {
  std::string text;
  for (size_t t = terms.size(); t-- > 0;) {
    if (!text.empty()) text += " + ";
    text += TermText(terms[t], names);
  }
  return text.empty() ? "0" : text;
}

}  // namespace cudaagent::rewrite
