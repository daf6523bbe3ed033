#include "worker/args.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "util/text.h"

namespace cudaagent::worker {
namespace {

// "gpu" and "gpu:3"; nullopt for anything else.
std::optional<int> GpuIndex(std::string_view device) {
  if (device == "gpu") return 0;
  if (!util::StartsWith(device, "gpu:")) return std::nullopt;
  device.remove_prefix(4);
  int index = -1;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error != std::errc() || end != device.data() + device.size() || index < 0) {
    return std::nullopt;
  }
  return index;
}

}  // namespace

Result<Args> ParseArgs(const std::vector<std::string>& arguments) {
  Args args;
  bool device_given = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--spare") {
      args.spare = true;
      continue;
    }
    if (name != "--device" && name != "--model-gpu") {
      return Fail(ErrorCode::kUsage,
                  fmt::format("Unknown argument \"{}\". This program is started by cudaagent, with "
                              "--device gpu:N|cpu, --model-gpu NAME and --spare.",
                              name));
    }
    if (i + 1 == arguments.size()) {
      return Fail(ErrorCode::kUsage, fmt::format("{} needs a value.", name));
    }
    const std::string& value = arguments[++i];
    if (name == "--model-gpu") {
      args.model_gpu = value;
      continue;
    }
    const std::optional<int> index = GpuIndex(value);
    if (!index && value != "cpu") {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--device is \"{}\"; it must be cpu, gpu or gpu:N.", value));
    }
    args.gpu = index.has_value();
    args.gpu_index = index.value_or(0);
    device_given = true;
  }
  if (!device_given) return Fail(ErrorCode::kUsage, "--device gpu:N|cpu is missing.");
  return args;
}

}  // namespace cudaagent::worker
