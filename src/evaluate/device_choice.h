// Which device an evaluation runs on. The driver never loads CUDA: it looks at what the NVIDIA
// driver leaves in /dev and /proc.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cudaagent/result.h"

namespace cudaagent::evaluate {

struct DeviceChoice {
  std::string device;  // "cpu" | "gpu:N", as the worker takes it
  bool gpu = false;
  std::string why;  // for a person: "using the CPU device: ..."
};

// What is looked at, so that tests can show another machine.
struct MachineView {
  std::function<bool(const std::string& path)> exists;
  std::optional<std::string> cuda_visible_devices;
  static MachineView Here();
};

// `wanted`: "auto" | "cpu" | "gpu" | "gpu:N"; else kUsage. A GPU asked for by name on a machine
// that shows none is kEnvironment.
Result<DeviceChoice> ChooseDevice(const std::string& wanted, const MachineView& machine);

}  // namespace cudaagent::evaluate
