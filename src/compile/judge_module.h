// What a candidate's compiled module may hold (docs/compile.md, docs/measurement.md).
#pragma once

#include <optional>
#include <string>

#include "compile/nvrtc_compiler.h"
#include "cudaagent/evaluation.h"
#include "cudaagent/fault.h"
#include "protocol/messages.h"

namespace cudaagent::compile {

// The candidate's fault, if any: kernels the plan names but the module lacks, functions only a
// linker or the device runtime has, static memory beyond what is allowed, instructions that sense
// or outlast the timing. Without one `report` has the module's flags and state.
std::optional<Fault> JudgeModule(const protocol::CompileJob& job, const NvrtcOutput& output,
                                 CompileReport* report);

// "the __global__ functions in the code are ..."
std::string KernelsInCode(const std::string& source);
std::string NotAKernel(const std::string& expression, const std::string& source);

}  // namespace cudaagent::compile
