// Which element of an operand belongs to element i of an iteration space, as integer arithmetic on
// i that generated code can carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudaagent::rewrite {

// The coordinate of one dimension: (i / div) % extent; 0 where extent is 1.
struct Coordinate {
  int64_t div = 1;
  int64_t extent = 1;
};
using Coordinates = std::vector<Coordinate>;

// A summand of an operand's offset: (i / div) % mod * stride.
struct IndexTerm {
  int64_t div = 1;
  int64_t mod = 1;
  int64_t stride = 1;
};

// Row-major coordinates of a contiguous tensor whose linear index is i / divisor.
Coordinates LinearCoordinates(const std::vector<int64_t>& shape, int64_t divisor);

// Coordinates of a tensor whose elements lie in memory without gaps, in any order of dimensions,
// where i counts them in that order; std::nullopt for other tensors.
std::optional<Coordinates> MemoryCoordinates(const std::vector<int64_t>& shape,
                                             const std::vector<int64_t>& strides);

// Coordinates of an operand of `shape` that broadcasts to the space `coordinates` belong to;
// std::nullopt where it does not broadcast.
std::optional<Coordinates> BroadcastCoordinates(const Coordinates& coordinates,
                                                const std::vector<int64_t>& shape);

// The operand's offset, dimensions merged where they lie together in memory.
std::vector<IndexTerm> OffsetTerms(const Coordinates& coordinates,
                                   const std::vector<int64_t>& strides);

// d where the coordinates' row-major linear index is (i / d) % numel; 1 for a single element.
std::optional<int64_t> LinearDivisor(const Coordinates& coordinates);

// The offset never changes within [k * g, (k + 1) * g) for the returned g; 0 = it never changes.
int64_t Granularity(const std::vector<IndexTerm>& terms);
// Largest offset the terms can give.
int64_t MaxOffset(const std::vector<IndexTerm>& terms);

// Names the generated code gives the parts of an index.
struct IndexNames {
  std::string index = "i";  // the linear index
  std::string row;          // "" = the space has no rows
  std::string column;       // i = row * row_length + column
  int64_t row_length = 0;
  int64_t space = 0;  // number of elements
};

// The offset as C: "col", "row", "i % 4096", "i / 3136 % 64 * 2"; "0" for a single element.
std::string OffsetText(const std::vector<IndexTerm>& terms, const IndexNames& names);

}  // namespace cudaagent::rewrite
