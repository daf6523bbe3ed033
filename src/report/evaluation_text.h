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

// One line of progress: "attempt 3   builtin  ok  0.5120 ms  eager 2.10x [2.05, 2.14]  reward 3
// 5120+812 tokens  (best so far)".
std::string AttemptLine(const Attempt& attempt, bool new_best);

// "2.10x [2.05, 2.14]", with "~" before it where it is an estimate.
std::string SpeedupText(const Speedup& speedup, bool estimated);

// One line of what judging an attempt once more in a fresh worker came to.
std::string ConfirmationLine(const Attempt& attempt);

}  // namespace cudaagent::report
