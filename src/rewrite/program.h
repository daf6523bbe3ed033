// What one generated kernel computes: values in single assignment form over an iteration space.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rewrite/index_map.h"

namespace cudaagent::rewrite {

enum class ValueType { kFloat, kBool, kInt };

enum class ReduceKind {
  kSum,
  kMax,
  kMin,
  kMoments,        // mean and sum of squared deviations, two fields
  kOnlineSoftmax,  // maximum and sum of exp(x - maximum), two fields
  kArgMax,         // the largest and where it stands first, two fields
  kArgMin,
};

// A load may look up where to read: the value of an integer operand times a stride.
struct Gather {
  int operand = 0;
  int64_t stride = 1;
};

struct ProgramValue {
  enum class Kind { kLoad, kLiteral, kCompute, kReduce, kField, kScan };
  Kind kind = Kind::kCompute;
  ValueType type = ValueType::kFloat;
  std::string name;           // what a person may call it
  std::string text;           // literal, pattern of a computation ("{0} * {1}"), or a field's name
  std::vector<int> operands;  // earlier values
  // kLoad
  std::string tensor;  // ref
  std::string dtype;
  std::vector<IndexTerm> terms;
  std::vector<Gather> gathers;  // their operands are among `operands`
  // kReduce
  ReduceKind reduce = ReduceKind::kSum;
  // Number of reductions (or scans) that must be finished, one after the other, before the value
  // is known.
  int stage = 0;
  // The value is constant on every aligned block of this many elements; 0 = everywhere.
  int64_t granularity = 0;
  // Column and window programs: computed from the index of the output, not of the reduced input.
  bool outer = false;
};

struct ProgramOutput {
  int value = 0;
  std::string tensor;  // ref
  std::string dtype;
  bool per_row = false;  // one element per row, column or window, else one per element of the space
};

// What a pool's result [outer, out...] reads of its operand [outer, in...]: three dimensions, the
// first ones 1 where it has fewer.
struct Window {
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      padding{0, 0, 0}, dilation{1, 1, 1};
  bool operator==(const Window&) const = default;
};

enum class ProgramKind { kPointwise, kRows, kColumns, kWindows, kScan };

struct Program {
  ProgramKind kind = ProgramKind::kPointwise;
  int64_t elements = 0;    // of the iteration space
  int64_t row_length = 0;  // kRows, kScan: elements per row, which lie together
  int64_t reduced = 0;     // kColumns: the space is [outer, reduced, inner] ...
  int64_t inner = 0;       // ... and the result [outer, inner]
  Window window;           // kWindows
  bool reverse = false;    // kScan: from a row's end to its beginning
  std::vector<ProgramValue> values;
  std::vector<ProgramOutput> outputs;
  std::vector<std::string> nodes;  // the graph's operators it replaces, for the comment

  int64_t rows() const { return row_length == 0 ? 0 : elements / row_length; }
  int64_t results() const {
    if (kind == ProgramKind::kColumns) return elements / reduced;
    if (kind != ProgramKind::kWindows) return rows();
    const auto volume = [](const std::array<int64_t, 3>& e) { return e[0] * e[1] * e[2]; };
    return elements / volume(window.in) * volume(window.out);
  }
  // Results have an index of their own, "o".
  bool has_outer() const { return kind == ProgramKind::kColumns || kind == ProgramKind::kWindows; }
};

}  // namespace cudaagent::rewrite
