#include "device/gpu/unmapped_memory.h"

#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <memory>
#include <string>

#include "device/gpu/driver.h"
#include "device/gpu/graph.h"

namespace cudaagent::device::gpu {
namespace {

const Driver& LoadedDriver() {
  const auto driver = LoadDriver();
  TORCH_CHECK(driver, driver.error().message);
  return **driver;
}

int IndexOf(at::Device device) {
  return device.has_index() ? device.index() : c10::cuda::current_device();
}

CUmemAllocationProp PropertiesFor(int index) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = index;
  return properties;
}

void Require(CUresult result, const std::string& what) {
  TORCH_CHECK(result == CUDA_SUCCESS, "Strict guards: ", what, " (the driver answered ",
              ErrorName(result), "). --guard zones does without it.");
}

// Reserved addresses with memory in their middle. Gives back what it has got, however far that is.
class Mapping {
 public:
  Mapping(const Driver& driver, int64_t bytes, int64_t granularity)
      : driver_(driver), bytes_(static_cast<size_t>(bytes)) {
    const auto margin = static_cast<size_t>(granularity);
    Require(driver_.cuMemAddressReserve(&reserved_, bytes_ + 2 * margin, margin, 0, 0),
            c10::str("no range of ", bytes_ + 2 * margin, " addresses could be reserved"));
    reserved_bytes_ = bytes_ + 2 * margin;
    base_ = reserved_ + margin;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Runs as a tensor's deleter too: a context that a fault has ended refuses all of this, which is
  // nobody's concern any more.
  ~Mapping() {
    if (mapped_) {
      driver_.cuCtxSynchronize();
      driver_.cuMemUnmap(base_, bytes_);
    }
    if (created_) driver_.cuMemRelease(memory_);
    if (reserved_bytes_ > 0) driver_.cuMemAddressFree(reserved_, reserved_bytes_);
  }

  // False where the device has no memory left.
  bool Create(int index) {
    const CUmemAllocationProp properties = PropertiesFor(index);
    const CUresult result = driver_.cuMemCreate(&memory_, bytes_, &properties, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
    Require(result, c10::str(bytes_, " bytes could not be allocated"));
    created_ = true;
    return true;
  }

  void Map(int index) {
    Require(driver_.cuMemMap(base_, bytes_, 0, memory_, 0),
            c10::str(bytes_, " bytes could not be mapped"));
    mapped_ = true;
    CUmemAccessDesc access{};
    access.location = PropertiesFor(index).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    Require(driver_.cuMemSetAccess(base_, bytes_, &access, 1),
            c10::str(bytes_, " bytes could not be made accessible"));
  }

  void* base() const { return reinterpret_cast<void*>(base_); }

 private:
  const Driver& driver_;
  const size_t bytes_;
  size_t reserved_bytes_ = 0;
  CUdeviceptr reserved_ = 0;
  CUdeviceptr base_ = 0;
  CUmemGenericAllocationHandle memory_ = 0;
  bool created_ = false;
  bool mapped_ = false;
};

[[noreturn]] void ThrowOutOfMemory(const Driver& driver, int64_t bytes) {
  size_t free = 0, total = 0;
  driver.cuMemGetInfo(&free, &total);
  TORCH_CHECK_WITH(OutOfMemoryError, false, "Strict guards: a buffer takes ", bytes,
                   " bytes of device memory, of which ", free, " are free.");
}

}  // namespace

int64_t MappingGranularity(at::Device device) {
  const CUmemAllocationProp properties = PropertiesFor(IndexOf(device));
  size_t granularity = 0;
  Require(LoadedDriver().cuMemGetAllocationGranularity(&granularity, &properties,
                                                       CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "this GPU maps no virtual memory");
  return static_cast<int64_t>(granularity);
}

at::Tensor AllocateBeforeUnmapped(int64_t bytes, at::Device device) {
  const Driver& driver = LoadedDriver();
  const int index = IndexOf(device);
  const int64_t granularity = MappingGranularity(device);
  TORCH_CHECK(bytes > 0 && bytes % granularity == 0, bytes, " is no multiple of ", granularity);
  auto mapping = std::make_shared<Mapping>(driver, bytes, granularity);
  if (!mapping->Create(index)) {
    EmptyCache();  // torch's allocator may hold what is missing
    if (!mapping->Create(index)) ThrowOutOfMemory(driver, bytes);
  }
  mapping->Map(index);
  void* base = mapping->base();
  const at::Device on(at::kCUDA, static_cast<c10::DeviceIndex>(index));
  // The deleter holds the mapping, and goes with the storage.
  return at::from_blob(
      base, {bytes}, [mapping = std::move(mapping)](void*) {},
      at::TensorOptions().dtype(at::kByte).device(on), on);
}

}  // namespace cudaagent::device::gpu
