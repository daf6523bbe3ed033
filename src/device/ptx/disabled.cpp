// Stands in for the CPU device where it was left out of the build.
#include "device/device.h"
#include "device/shadow.h"

namespace cudaagent::device {

Result<std::unique_ptr<Device>> OpenPtx(const EvalOptions&) {
  return Fail(ErrorCode::kEnvironment,
              "The CPU device was asked for, but this worker was built without it "
              "(-DCUDAAGENT_CPU_DEVICE=OFF). Use a GPU, or build with it.");
}

std::unique_ptr<Shadow> OpenShadow(const Artifact&, const ShadowOptions&) { return nullptr; }

}  // namespace cudaagent::device
