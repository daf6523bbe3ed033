// The timing stage of one evaluation: measured on a GPU, estimated on the CPU device.
#pragma once

#include <string>

#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "cudaagent/options.h"
#include "cudaagent/result.h"
#include "device/plan_runner.h"
#include "worker/session.h"

namespace cudaagent::worker {

// What takes turns with a candidate.
struct Rivals {
  bool eager = true;
  std::string compile_mode;  // of torch.compile, called once before; empty = none
};

// Times the candidate (a graph replay where `captured`) by turns with `rivals`, and fills in
// timings, speedups, share of own kernels, the clock and notes. An Error is the reference's or the
// world's.
Result<Checked<void>> TimeOnGpu(Session& session, device::PlanRunner& runner,
                                device::Bindings& bindings, bool captured, const Rivals& rivals,
                                const EvalOptions& options, Evaluation* evaluation);

// One run more on the CPU device, whose counters become `evaluation->counters`. Kernels are costed
// by what they did, ops and eager by the operators that libtorch was seen to call
// (docs/measurement.md).
Result<Checked<void>> EstimateOnCpu(Session& session, device::PlanRunner& runner,
                                    const EvalOptions& options, Evaluation* evaluation);

}  // namespace cudaagent::worker
