#include "evaluate/device_choice.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "util/text.h"

namespace cudaagent::evaluate {
namespace {

// Why no GPU can be used, or nullopt where one may be.
std::optional<std::string> WhyNoGpu(const MachineView& machine) {
  if (machine.cuda_visible_devices) {
    const std::string_view visible = util::Trim(*machine.cuda_visible_devices);
    if (visible.empty() || visible == "-1") return "CUDA_VISIBLE_DEVICES hides every GPU";
  }
  // Linux' driver, its /proc entry where /dev is bare (some containers), and WSL's.
  for (const char* path : {"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg"}) {
    if (machine.exists(path)) return std::nullopt;
  }
  return "this machine shows no NVIDIA driver (no /dev/nvidiactl, /proc/driver/nvidia or /dev/dxg)";
}

bool IsIndex(std::string_view text) {
  return !text.empty() && text.size() <= 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

MachineView MachineView::Here() {
  MachineView machine;
  machine.exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    machine.cuda_visible_devices = visible;
  }
  return machine;
}

Result<DeviceChoice> ChooseDevice(const std::string& wanted, const MachineView& machine) {
  if (wanted == "cpu") return DeviceChoice{"cpu", false, "using the CPU device, as asked"};
  const bool automatic = wanted == "auto";
  const bool indexed = util::StartsWith(wanted, "gpu:") && IsIndex(wanted.substr(4));
  if (!automatic && wanted != "gpu" && !indexed) {
    return Fail(ErrorCode::kUsage, "\"" + util::SanitiseLog(wanted, 60) +
                                       "\" is no device. Use auto, cpu, gpu or gpu:N, N counting "
                                       "the visible GPUs from 0.");
  }
  const std::optional<std::string> why_not = WhyNoGpu(machine);
  if (why_not && automatic) {
    return DeviceChoice{"cpu", false, "using the CPU device (PTX interpreter): " + *why_not};
  }
  if (why_not) {
    return Fail(ErrorCode::kEnvironment, "A GPU was asked for (" + wanted + "), but " + *why_not +
                                             ". Use --device cpu to work without one.");
  }
  const std::string device = indexed ? wanted : "gpu:0";
  return DeviceChoice{device, true, "using the GPU (" + device + ")"};
}

}  // namespace cudaagent::evaluate
