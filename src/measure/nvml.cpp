#include "measure/nvml.h"

#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <utility>

#include "device/gpu/driver.h"

namespace cudaagent::measure {
namespace {

// The part of NVML's interface that is used; numbers and signatures are those of its nvml.h.
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;
constexpr uint64_t kPowerCap = 0x4;
constexpr std::array<std::pair<uint64_t, const char*>, 4> kThrottles = {{
    {0x8, "hardware slowdown"},
    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},
}};

std::string DeviceUuid() {
  auto driver = device::gpu::LoadDriver();
  if (!driver) return "";
  CUdevice device = 0;
  CUuuid uuid{};
  if ((*driver)->cuDeviceGet(&device, c10::cuda::current_device()) != CUDA_SUCCESS ||
      (*driver)->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) {
    return "";
  }
  return device::gpu::SpellUuid(uuid);
}

}  // namespace

bool ClockEvents::throttled() const {
  for (const auto& [bit, words] : kThrottles) {
    if ((bits & bit) != 0) return true;
  }
  return false;
}

bool ClockEvents::power_capped() const { return (bits & kPowerCap) != 0; }

std::vector<std::string> ClockEvents::Words() const {
  std::vector<std::string> all;
  for (const auto& [bit, words] : kThrottles) {
    if ((bits & bit) != 0) all.emplace_back(words);
  }
  if (power_capped()) all.emplace_back("power cap");
  return all;
}

Nvml& Nvml::Get() {
  static Nvml* const nvml = new Nvml();  // never freed: others may ask while the process exits
  return *nvml;
}

Nvml::Nvml() : problem_(Open()) {}

std::string Nvml::Open() {
  library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return "there is no libnvidia-ml.so.1";
  const auto init = reinterpret_cast<int (*)()>(::dlsym(library_, "nvmlInit_v2"));
  const auto by_uuid = reinterpret_cast<int (*)(const char*, void**)>(
      ::dlsym(library_, "nvmlDeviceGetHandleByUUID"));
  if (init == nullptr || by_uuid == nullptr) return "libnvidia-ml.so.1 is too old";
  if (const int result = init(); result != kSuccess) {
    return "nvmlInit_v2 failed (" + std::to_string(result) + ")";
  }
  const std::string uuid = DeviceUuid();
  void* device = nullptr;
  if (const int result = by_uuid(uuid.c_str(), &device); result != kSuccess) {
    return "NVML does not know " + (uuid.empty() ? "this GPU" : uuid) + " (" +
           std::to_string(result) + ")";
  }
  device_ = device;
  return "";
}

std::optional<int> Nvml::Ask(const char* name, int what) {
  if (!usable()) return std::nullopt;
  const auto ask = reinterpret_cast<int (*)(void*, int, unsigned*)>(::dlsym(library_, name));
  unsigned value = 0;
  if (ask == nullptr || ask(device_, what, &value) != kSuccess) return std::nullopt;
  return static_cast<int>(value);
}

std::optional<uint64_t> Nvml::Ask(const char* name) {
  if (!usable()) return std::nullopt;
  const auto ask = reinterpret_cast<int (*)(void*, unsigned long long*)>(::dlsym(library_, name));
  unsigned long long value = 0;
  if (ask == nullptr || ask(device_, &value) != kSuccess) return std::nullopt;
  return value;
}

std::optional<ClockEvents> Nvml::Events() {
  // Its newer name came with driver 535; this one still works.
  const auto bits = Ask("nvmlDeviceGetCurrentClocksThrottleReasons");
  return bits ? std::optional(ClockEvents{*bits}) : std::nullopt;
}

std::optional<int> Nvml::SmMegahertz() { return Ask("nvmlDeviceGetClockInfo", kSmClock); }
std::optional<int> Nvml::MemoryMegahertz() { return Ask("nvmlDeviceGetClockInfo", kMemoryClock); }
std::optional<int> Nvml::Celsius() { return Ask("nvmlDeviceGetTemperature", kGpuSensor); }
std::optional<uint64_t> Nvml::Millijoules() { return Ask("nvmlDeviceGetTotalEnergyConsumption"); }

}  // namespace cudaagent::measure
