#include <algorithm>
#include <filesystem>

#include "cli/bench.h"
#include "evaluate/device_choice.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

// One name for each GPU that the NVIDIA driver shows and CUDA_VISIBLE_DEVICES does not hide.
std::vector<std::string> AllGpus(const evaluate::MachineView& machine) {
  size_t count = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", ignored)) {
    count += entry.is_directory(ignored) ? 1 : 0;
  }
  if (machine.cuda_visible_devices) {
    size_t visible = 0;
    for (const std::string& piece : util::Split(*machine.cuda_visible_devices, ',')) {
      visible += util::Trim(piece).empty() ? 0 : 1;
    }
    count = count == 0 ? visible : std::min(count, visible);
  }
  std::vector<std::string> gpus;
  for (size_t i = 0; i < count; ++i) gpus.push_back("gpu:" + std::to_string(i));
  return gpus;
}

}  // namespace

Result<std::vector<std::string>> BenchDevices(const std::string& wanted, int jobs) {
  const evaluate::MachineView machine = evaluate::MachineView::Here();
  std::vector<std::string> names = util::Split(wanted, ',');
  if (wanted == "all") {
    names = AllGpus(machine);
    if (names.empty()) {
      return Fail(ErrorCode::kEnvironment,
                  "--device all: this machine shows no NVIDIA GPU. Use --device cpu, or name "
                  "the GPUs: --device gpu:0,gpu:1.");
    }
  }
  std::vector<std::string> devices;
  for (const std::string& name : names) {
    auto choice = evaluate::ChooseDevice(std::string(util::Trim(name)), machine);
    if (!choice) return tl::unexpected(choice.error());
    if (std::find(devices.begin(), devices.end(), choice->device) != devices.end()) {
      return Fail(ErrorCode::kUsage,
                  "--device names " + choice->device +
                      " twice. A GPU takes one problem at a time; the CPU device takes --jobs N.");
    }
    devices.push_back(choice->device);
  }
  const bool cpu = std::find(devices.begin(), devices.end(), "cpu") != devices.end();
  if (cpu && devices.size() > 1) {
    return Fail(
        ErrorCode::kUsage,
        "--device mixes the CPU device with GPUs: estimates and measurements do not compare.");
  }
  if (cpu) devices.assign(jobs, "cpu");
  return devices;
}

}  // namespace cudaagent::cli
