// What one generated kernel computes: values in single assignment form over an iteration space.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rewrite/index_map.h"

namespace cudaagent::rewrite {

enum class ValueType { kFloat, kBool };

enum class ReduceKind {
  kSum,
  kMax,
  kMin,
  kMoments,        // mean and sum of squared deviations, two fields
  kOnlineSoftmax,  // maximum and sum of exp(x - maximum), two fields
};

struct ProgramValue {
  enum class Kind { kLoad, kLiteral, kCompute, kReduce, kField };
  Kind kind = Kind::kCompute;
  ValueType type = ValueType::kFloat;
  std::string name;           // what a person may call it
  std::string text;           // literal, pattern of a computation ("{0} * {1}"), or a field's name
  std::vector<int> operands;  // earlier values
  // kLoad
  std::string tensor;  // ref
  std::string dtype;
  std::vector<IndexTerm> terms;
  // kReduce
  ReduceKind reduce = ReduceKind::kSum;
  // Number of reductions that must be finished, one after the other, before the value is known.
  int stage = 0;
  // The value is constant on every aligned block of this many elements; 0 = everywhere.
  int64_t granularity = 0;
  // Column programs: computed from the index of the output, not of the reduced input.
  bool outer = false;
};

struct ProgramOutput {
  int value = 0;
  std::string tensor;  // ref
  std::string dtype;
  bool per_row = false;  // one element per row (or column), else one per element of the space
};

enum class ProgramKind { kPointwise, kRows, kColumns };

struct Program {
  ProgramKind kind = ProgramKind::kPointwise;
  int64_t elements = 0;    // of the iteration space
  int64_t row_length = 0;  // kRows: elements per row, which lie together
  int64_t reduced = 0;     // kColumns: the space is [outer, reduced, inner] ...
  int64_t inner = 0;       // ... and the result [outer, inner]
  std::vector<ProgramValue> values;
  std::vector<ProgramOutput> outputs;
  std::vector<std::string> nodes;  // the graph's operators it replaces, for the comment

  int64_t rows() const { return row_length == 0 ? 0 : elements / row_length; }
  int64_t results() const { return kind == ProgramKind::kColumns ? elements / reduced : rows(); }
};

}  // namespace cudaagent::rewrite
