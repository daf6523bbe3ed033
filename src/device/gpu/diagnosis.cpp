#include "device/gpu/diagnosis.h"

namespace cudaagent::device::gpu {
namespace {

constexpr size_t kNamedKernels = 3;

std::string Subject(const std::vector<std::string>& kernels) {
  if (kernels.empty()) return "An op of the plan";
  if (kernels.size() == 1) return "Kernel \"" + kernels[0] + "\"";
  std::string subject = "One of the kernels ";
  for (size_t i = 0; i < kernels.size() && i < kNamedKernels; ++i) {
    subject += (i == 0 ? "\"" : ", \"") + kernels[i] + "\"";
  }
  if (kernels.size() > kNamedKernels) {
    subject += " and " + std::to_string(kernels.size() - kNamedKernels) + " more";
  }
  return subject;
}

}  // namespace

Diagnosis Diagnose(CUresult result) {
  const std::string number = "CUDA error " + std::to_string(static_cast<int>(result));
  const auto harmless = [&](Verdict verdict, const char* what) {
    return Diagnosis{verdict, false, std::string(what) + " (" + number + ")"};
  };
  const auto fatal = [&](Verdict verdict, const char* what) {
    return Diagnosis{verdict, true, std::string(what) + " (" + number + ")"};
  };
  switch (result) {
    // The allow-list: the context stays healthy.
    case CUDA_ERROR_INVALID_VALUE:
      return harmless(Verdict::kLaunchRejected, "was refused by the driver: invalid value");
    case CUDA_ERROR_OUT_OF_MEMORY:
      return harmless(Verdict::kOutOfMemory, "needs more memory than the device has left");
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return harmless(Verdict::kLaunchRejected,
                      "needs more registers or shared memory per block than the device has");
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
      return harmless(Verdict::kLaunchRejected,
                      "was launched cooperatively with more blocks than can be resident");
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
      return harmless(Verdict::kLaunchRejected, "was launched with an impossible cluster size");
    case CUDA_ERROR_NOT_SUPPORTED:
      return harmless(Verdict::kLaunchRejected, "asks for what this device does not support");
    case CUDA_ERROR_NOT_FOUND:
      return harmless(Verdict::kInfraError, "was not found in its module");
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_SOURCE:
      return harmless(Verdict::kInfraError, "was compiled for another device");
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
      return harmless(Verdict::kBadCandidate, "calls a device function that does not exist");
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_CAPTURED_EVENT:
      return harmless(Verdict::kInfraError, "could not be captured into a graph");
    // A candidate's faults that poison the context.
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return fatal(Verdict::kOutOfBounds, "accessed memory outside every allocation");
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return fatal(Verdict::kDeviceFault,
                   "accessed an address that is not a multiple of the access's size");
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return fatal(Verdict::kDeviceFault, "executed a trap or an illegal instruction");
    case CUDA_ERROR_ASSERT:
      return fatal(Verdict::kDeviceFault, "failed an assertion");
    case CUDA_ERROR_LAUNCH_FAILED:
      return fatal(Verdict::kDeviceFault,
                   "stopped at a trap, a stack overflow or an access outside shared memory");
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
      return fatal(Verdict::kDeviceFault, "overflowed its call stack");
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return fatal(Verdict::kDeviceFault, "used an address in the wrong memory space");
    case CUDA_ERROR_INVALID_PC:
      return fatal(Verdict::kDeviceFault, "jumped to an address that holds no code");
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return fatal(Verdict::kTimedOut, "ran longer than the driver allows");
    default:
      return fatal(Verdict::kInfraError, "ended with an error of the device");
  }
}

Fault Explain(CUresult result, const std::vector<std::string>& kernels, Guard guard) {
  Diagnosis diagnosis = Diagnose(result);
  const bool strict = guard == Guard::kStrict && result == CUDA_ERROR_ILLEGAL_ADDRESS;
  return {diagnosis.verdict,
          Subject(kernels) + " " + diagnosis.predicate +
              (strict ? "; strict guards were on: memory right past the end of every input, "
                        "parameter, output and buffer is unmapped."
                      : ".")};
}

}  // namespace cudaagent::device::gpu
