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

// Times the candidate (a graph replay where `captured`), where `with_eager` by turns with eager
// forward, and fills in timings, speedup, share of own kernels, the clock and notes. An Error is
// the reference's or the world's.
Result<Checked<void>> TimeOnGpu(Session& session, device::PlanRunner& runner,
                                device::Bindings& bindings, bool captured, bool with_eager,
                                const EvalOptions& options, Evaluation* evaluation);

// One run more on the CPU device, whose counters become `evaluation->counters`. Kernels are costed
// by what they did, ops and eager by the operators that libtorch was seen to call
// (docs/measurement.md).
Result<Checked<void>> EstimateOnCpu(Session& session, device::PlanRunner& runner,
                                    const EvalOptions& options, Evaluation* evaluation);

}  // namespace cudaagent::worker
