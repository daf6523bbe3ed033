// What the next attempt is told about the last one. Facts with their numbers, worst first; text
// that others wrote (compiler logs, model output) is quoted and capped.
#pragma once

#include <string>

#include "cudaagent/evaluation.h"

namespace cudaagent::prompt {

std::string Feedback(const Evaluation& evaluation);

}  // namespace cudaagent::prompt
