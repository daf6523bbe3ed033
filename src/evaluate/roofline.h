// The least time that a device's measured ceilings leave for the work of the ATen graph. Pure.
#pragma once

#include "cudaagent/ceilings.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/problem.h"
#include "graph/graph.h"

namespace cudaagent::evaluate {

// FLOPs per second that the problem's type and precision allow.
double PeakFlops(const Ceilings& ceilings, const ProblemSpec& spec);

// max(bytes / bytes_per_s, FLOPs / peak_flops) and its share of the candidate's median: sol_ms and
// sol. Nothing where the candidate has no measured time or a ceiling is not known.
void AddSol(const graph::Work& work, double peak_flops, double bytes_per_s, Evaluation* evaluation);

}  // namespace cudaagent::evaluate
