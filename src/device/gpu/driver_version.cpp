#include "device/gpu/driver_version.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "util/file.h"

namespace cudaagent::device::gpu {
namespace {

// From nvml.h, which machines with a driver but no toolkit lack: 0 is NVML_SUCCESS.
using NvmlInit = int (*)();
using NvmlVersion = int (*)(char* version, unsigned int length);

std::string AskNvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "";
  const auto init = reinterpret_cast<NvmlInit>(dlsym(library, "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<NvmlInit>(dlsym(library, "nvmlShutdown"));
  const auto version = reinterpret_cast<NvmlVersion>(dlsym(library, "nvmlSystemGetDriverVersion"));
  std::string result;
  if (init != nullptr && shutdown != nullptr && version != nullptr && init() == 0) {
    std::array<char, 96> text{};
    if (version(text.data(), static_cast<unsigned int>(text.size()) - 1) == 0) {
      result = text.data();
    }
    shutdown();
  }
  dlclose(library);
  return result;
}

}  // namespace

std::string ParseDriverVersion(std::string_view text) {
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build ..."
  const std::string_view line = text.substr(0, text.find('\n'));
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    const bool is_version = word.find('.') != std::string_view::npos &&
                            std::all_of(word.begin(), word.end(), [](unsigned char c) {
                              return std::isdigit(c) != 0 || c == '.';
                            });
    if (is_version) return std::string(word);
    begin = end + 1;
  }
  return "";
}

std::string DriverVersion() {
  if (std::string version = AskNvml(); !version.empty()) return version;
  const auto text = util::ReadFile("/proc/driver/nvidia/version", 4096);
  return text ? ParseDriverVersion(*text) : "";
}

}  // namespace cudaagent::device::gpu
