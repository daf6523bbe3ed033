// A candidate's fault is data, not an error: a verdict and the one sentence the proposer sees next.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "cudaagent/verdict.h"

namespace cudaagent {

struct Fault {
  Verdict verdict = Verdict::kInfraError;
  std::string message;  // what is wrong, where, and what would be right
};

// The value, or why this candidate does not get one.
template <typename T>
using Checked = tl::expected<T, Fault>;

inline tl::unexpected<Fault> Blame(Verdict verdict, std::string message) {
  return tl::unexpected<Fault>(Fault{verdict, std::move(message)});
}

}  // namespace cudaagent
