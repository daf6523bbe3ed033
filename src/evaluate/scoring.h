// From measurements to speedups and a reward. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cudaagent/evaluation.h"

namespace cudaagent::evaluate {

// torch.compile and eager, timed interleaved once and kept.
struct Baseline {
  Timing eager;
  std::map<std::string, Timing> compiled;  // by mode
};

// What decides, and why not torch.compile where that was wanted and could not be had.
struct BaselineState {
  std::optional<Baseline> baseline;
  std::string decides = "eager";  // "compile" | "eager"
  std::string mode;               // of torch.compile: the one that speedups are over
  std::string note;               // "torch.compile failed (...): eager decides"
};

// Fills speedups, `compiled_baseline` and the protocol's baseline and note. The cached
// torch.compile time is scaled by eager's drift, compiled * (eager now / eager then), so that a
// device which runs slower today makes no candidate look better; where torch.compile took turns
// with the candidate, its own figures stay. Intervals combine in quadrature on the log scale.
void Score(const BaselineState& baseline, Evaluation* evaluation);

// What decides, by --baseline: "eager"; "compile", in mode default; "best", the fastest of all that
// were timed. Empty `wanted` timings leave eager.
void Decide(const std::string& wanted, BaselineState* state);

}  // namespace cudaagent::evaluate
