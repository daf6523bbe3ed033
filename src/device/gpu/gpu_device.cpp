#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/cuda/CUDAFunctions.h>

#include <array>
#include <cstdio>
#include <utility>

#include "device/device.h"
#include "device/gpu/context.h"
#include "device/gpu/driver_version.h"
#include "device/gpu/gpu_module.h"
#include "device/op_call.h"
#include "device/shadow.h"

namespace cudaagent::device {
namespace {

using gpu::Context;
using gpu::Driver;

// Device printf and malloc: enough for a few lines, and for nothing else.
constexpr size_t kPrintfBytes = 64 << 10;
constexpr size_t kHeapBytes = 1 << 20;

class GpuDevice : public Device {
 public:
  GpuDevice(Context context, DeviceStamp stamp, Limits limits)
      : context_(std::move(context)), stamp_(std::move(stamp)), limits_(std::move(limits)) {}

  const DeviceStamp& stamp() const override { return stamp_; }
  const Limits& limits() const override { return limits_; }
  bool is_gpu() const override { return true; }
  Checked<std::unique_ptr<Module>> Load(const Artifact& artifact) override {
    return gpu::LoadModule(artifact, context_);
  }
  void SetRegions(std::vector<MemoryRegion> regions) override {
    if (context_.shadow != nullptr) context_.shadow->SetRegions(std::move(regions));
  }
  bool wants_regions() const override { return context_.shadow != nullptr; }
  void SetShadow(Shadow* shadow) override { context_.shadow = shadow; }
  void TellGuard(Guard guard) override { context_.guard = guard; }
  Checked<void> Synchronize() override {
    const CUresult result = context_.driver->cuCtxSynchronize();
    if (result == CUDA_SUCCESS) return {};
    return tl::unexpected(context_.Record(result, ""));
  }
  bool poisoned() const override { return context_.poisoned; }
  std::vector<KernelCounters> TakeCounters() override { return {}; }

 private:
  Context context_;
  DeviceStamp stamp_;
  Limits limits_;
};

// Hopper and Blackwell have instructions that only the "a" target may use.
std::string ArchOf(int major, int minor) {
  const std::string plain = "sm_" + std::to_string(major) + std::to_string(minor);
  return (major == 9 || major == 10) && minor == 0 ? plain + "a" : plain;
}

// Collects failures, so that a list of queries reads as one.
struct Query {
  CUresult result = CUDA_SUCCESS;
  void Try(CUresult answer) {
    if (result == CUDA_SUCCESS) result = answer;
  }
};

}  // namespace

Result<std::unique_ptr<Device>> OpenGpu(int index) {
  auto loaded = gpu::LoadDriver();
  if (!loaded) return tl::unexpected(loaded.error());
  const Driver& driver = **loaded;
  const auto fail = [&](const std::string& what, CUresult result) {
    return Fail(ErrorCode::kEnvironment,
                what + ": the driver answered " + gpu::ErrorName(result) + ".");
  };
  int count = 0;
  if (const CUresult r = driver.cuDeviceGetCount(&count); r != CUDA_SUCCESS) {
    return fail("The GPUs could not be counted", r);
  }
  if (index < 0 || index >= count) {
    return Fail(ErrorCode::kEnvironment, "There is no GPU number " + std::to_string(index) +
                                             ": this machine shows " + std::to_string(count) +
                                             ". See nvidia-smi and CUDA_VISIBLE_DEVICES.");
  }
  // torch opens the primary context; kernels of candidates then run in the same one.
  try {
    at::globalContext().lazyInitDevice(at::kCUDA);
    c10::cuda::set_device(static_cast<c10::DeviceIndex>(index), true);
    at::zeros({1}, at::TensorOptions().dtype(at::kByte).device(at::kCUDA, index)).cpu();
  } catch (...) {
    return Fail(ErrorCode::kEnvironment,
                CurrentExceptionAsFault("torch could not open GPU " + std::to_string(index),
                                        Verdict::kInfraError)
                    .message);
  }
  Context context;
  context.driver = &driver;
  CUdevice device = 0;
  std::array<char, 256> name{};
  CUuuid uuid{};
  size_t memory = 0;
  int major = 0, minor = 0, l2 = 0, shared = 0, threads = 0, memory_khz = 0, memory_bits = 0;
  const std::pair<CUdevice_attribute, int*> attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &context.sms},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &memory_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &memory_bits},
  };
  Query query;
  query.Try(driver.cuDeviceGet(&device, index));
  // Kept for good: the context lives as long as the process.
  query.Try(driver.cuDevicePrimaryCtxRetain(&context.primary, device));
  query.Try(driver.cuCtxSetCurrent(context.primary));
  query.Try(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device));
  query.Try(driver.cuDeviceGetUuid(&uuid, device));
  query.Try(driver.cuDeviceTotalMem(&memory, device));
  for (const auto& [attribute, value] : attributes) {
    query.Try(driver.cuDeviceGetAttribute(value, attribute, device));
  }
  if (query.result != CUDA_SUCCESS) return fail("The GPU could not be described", query.result);
  // Refused once a kernel that uses them has been loaded, which costs only memory.
  driver.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, kPrintfBytes);
  driver.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, kHeapBytes);

  DeviceStamp stamp;
  stamp.kind = "gpu";
  stamp.name = name.data();
  stamp.uuid = gpu::SpellUuid(uuid);
  stamp.arch = ArchOf(major, minor);
  stamp.driver_version = gpu::DriverVersion();
  stamp.cuda_version =
      std::to_string(CUDA_VERSION / 1000) + "." + std::to_string(CUDA_VERSION % 1000 / 10);
  stamp.torch_version = CUDAAGENT_TORCH_VERSION;
  Limits limits;
  limits.arch = stamp.arch;
  limits.sms = context.sms;
  limits.l2_bytes = l2;
  limits.peak_bytes_per_s = 2e3 * memory_khz * memory_bits / 8;  // double data rate
  limits.shared_optin_bytes = shared;
  limits.memory_bytes = static_cast<int64_t>(memory);
  limits.max_threads_per_block = threads;
  return std::make_unique<GpuDevice>(std::move(context), std::move(stamp), std::move(limits));
}

}  // namespace cudaagent::device
