// The CUDA driver API, taken by dlopen: programs that link libcuda do not start without a GPU.
#pragma once

#include <cuda.h>

#include <string>

#include "cudaagent/result.h"

namespace cudaagent::device::gpu {

// Names as cuda.h spells them; its macros pick the version of each that the header describes.
#define CUDAAGENT_DRIVER_FUNCTIONS(X)            \
  X(cuInit)                                      \
  X(cuGetErrorName)                              \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetUuid)                             \
  X(cuDeviceTotalMem)                            \
  X(cuDeviceGetAttribute)                        \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxSetCurrent)                             \
  X(cuCtxSynchronize)                            \
  X(cuCtxSetLimit)                               \
  X(cuCtxResetPersistingL2Cache)                 \
  X(cuModuleLoadDataEx)                          \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuModuleGetGlobal)                           \
  X(cuFuncGetParamInfo)                          \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernelEx)                            \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventElapsedTime)                          \
  X(cuMemGetInfo)                                \
  X(cuMemcpyDtoH)                                \
  X(cuMemGetAllocationGranularity)               \
  X(cuMemAddressReserve)                         \
  X(cuMemAddressFree)                            \
  X(cuMemCreate)                                 \
  X(cuMemRelease)                                \
  X(cuMemMap)                                    \
  X(cuMemUnmap)                                  \
  X(cuMemSetAccess)

struct Driver {
#define CUDAAGENT_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  CUDAAGENT_DRIVER_FUNCTIONS(CUDAAGENT_DRIVER_MEMBER)
#undef CUDAAGENT_DRIVER_MEMBER
};

// Loaded once per process and kept; kEnvironment where there is no driver or it is too old. Every
// call tries again after a failure. Thread-safe.
Result<const Driver*> LoadDriver();

// "GPU-01234567-89ab-...", as nvidia-smi spells it.
std::string SpellUuid(const CUuuid& uuid);

// "CUDA_ERROR_INVALID_VALUE (1)".
std::string ErrorName(CUresult result);

}  // namespace cudaagent::device::gpu
