// A loaded cubin.
#pragma once

#include <memory>

#include "device/device.h"
#include "device/gpu/context.h"

namespace cudaagent::device::gpu {

// Reads and loads `artifact.cubin_path` into the current context. `context` must outlive the
// module. kInfraError where the file cannot be read or is for another device.
Checked<std::unique_ptr<Module>> LoadModule(const Artifact& artifact, Context& context);

}  // namespace cudaagent::device::gpu
