#include "device/gpu/driver.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <mutex>

namespace cudaagent::device::gpu {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

std::mutex mutex;
Driver driver;
bool loaded = false;

template <typename F>
bool Take(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

// Two steps, so that cuda.h's macros are expanded before the name becomes a string.
#define CUDAAGENT_SPELL_(name) #name
#define CUDAAGENT_SPELL(name) CUDAAGENT_SPELL_(name)

Result<const Driver*> LoadDriver() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded) return &driver;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Fail(ErrorCode::kEnvironment,
                std::string("No NVIDIA driver: ") + kLibrary + " could not be loaded (" +
                    (reason != nullptr ? reason : "no reason given") +
                    "). Install the driver, or use the CPU device (--device cpu).");
  }
#define CUDAAGENT_DRIVER_TAKE(name)                                                                \
  if (!Take(library, CUDAAGENT_SPELL(name), &driver.name)) {                                       \
    return Fail(ErrorCode::kEnvironment, std::string("The NVIDIA driver is too old: it has no ") + \
                                             CUDAAGENT_SPELL(name) +                               \
                                             ". This program needs one for CUDA 13.0 or newer.");  \
  }
  CUDAAGENT_DRIVER_FUNCTIONS(CUDAAGENT_DRIVER_TAKE)
#undef CUDAAGENT_DRIVER_TAKE
  const CUresult result = driver.cuInit(0);
  if (result != CUDA_SUCCESS) {
    const char* name = nullptr;
    driver.cuGetErrorName(result, &name);
    return Fail(ErrorCode::kEnvironment,
                std::string("The NVIDIA driver found no usable GPU: cuInit answered ") +
                    (name != nullptr ? name : "an unknown error") + " (" + std::to_string(result) +
                    "). nvidia-smi may say why.");
  }
  loaded = true;
  return &driver;
}

std::string SpellUuid(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex.data();
  }
  return text;
}

std::string ErrorName(CUresult result) {
  const char* name = nullptr;
  if (driver.cuGetErrorName != nullptr) driver.cuGetErrorName(result, &name);
  const std::string number = std::to_string(static_cast<int>(result));
  return name != nullptr ? std::string(name) + " (" + number + ")" : "CUDA error " + number;
}

}  // namespace cudaagent::device::gpu
