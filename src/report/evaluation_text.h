// Evaluations and runs in words, for a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudaagent/attempt.h"
#include "cudaagent/evaluation.h"

namespace cudaagent::report {

// One evaluation as a block of lines: verdict and its sentence, timings with intervals, speedups,
// the worst mismatch, resources, device and protocol. Ends in a newline.
std::string EvaluationText(const Evaluation& evaluation);

// One line of progress: "attempt 3  ok  0.512 ms  2.10x eager  1.31x compile  reward 3  (new best)".
std::string AttemptLine(const Attempt& attempt, bool new_best);

// "2.10x [2.05, 2.14]", with "~" before it where it is an estimate.
std::string SpeedupText(const Speedup& speedup, bool estimated);

}  // namespace cudaagent::report
