// The names of enumerations on the wire, in files and on the command line. Verdict's are in
// verdict.h.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::protocol {

inline constexpr std::array<std::pair<Precision, std::string_view>, 3> kPrecisionNames = {
    {{Precision::kFp32, "fp32"},
     {Precision::kTf32, "tf32"},
     {Precision::kTorchDefault, "torch-default"}}};

inline constexpr std::array<std::pair<Mode, std::string_view>, 2> kModeNames = {
    {{Mode::kEval, "eval"}, {Mode::kTrain, "train"}}};

inline constexpr std::array<std::pair<ErrorCode, std::string_view>, 5> kErrorCodeNames = {
    {{ErrorCode::kInternal, "internal"},
     {ErrorCode::kUsage, "usage"},
     {ErrorCode::kLlm, "llm"},
     {ErrorCode::kEnvironment, "environment"},
     {ErrorCode::kCancelled, "cancelled"}}};

// The name of `value` in its table; "" for a value that is none of the enumeration's.
template <typename Table, typename E>
constexpr std::string_view NameIn(const Table& table, E value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return "";
}

constexpr std::string_view NameOf(Precision precision) {
  return NameIn(kPrecisionNames, precision);
}
constexpr std::string_view NameOf(Mode mode) { return NameIn(kModeNames, mode); }
constexpr std::string_view NameOf(ErrorCode code) { return NameIn(kErrorCodeNames, code); }

}  // namespace cudaagent::protocol
