// A kernel step made ready: grid and block evaluated and checked against the device, arguments
// packed as the compiled kernel lays its parameters out.
#pragma once

#include <string>

#include "candidate/plan.h"
#include "cudaagent/fault.h"
#include "device/device.h"
#include "device/name_table.h"

namespace cudaagent::device {

// `instance` is the kernel's name as the plan spells it ("f<256, 2>"), `mangled` its name in the
// module. kBadCandidate: arguments, or sizes no device could run. kLaunchRejected: beyond this one.
Checked<Launch> PrepareLaunch(const candidate::KernelStep& step, const std::string& where,
                              const std::string& instance, const std::string& mangled,
                              const KernelInfo& info, const Limits& limits, NameTable& names);

}  // namespace cudaagent::device
