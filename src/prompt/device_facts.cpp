#include "prompt/device_facts.h"

namespace cudaagent::prompt {
namespace {

struct Known {
  const char* name;  // the device's name, or how it begins
  const char* facts;
};

// First match wins; "NVIDIA GH200 ..." is none of them. NVIDIA's data sheets "H200 Tensor Core
// GPU", "H100 Tensor Core GPU" and "A100 Tensor Core GPU"; SMs and L2 from its white papers "H100
// Tensor Core GPU Architecture" and "A100 Tensor Core GPU Architecture". Tensor-core figures are
// the dense ones, half of what the sheets print with sparsity. Neither gives the H200's L2 size, so
// it is left out, and of the NVL cards, which are slower, nothing is said.
constexpr Known kDevices[] = {
    {"NVIDIA H200 NVL", ""},
    {"NVIDIA H200", "132 SMs, 4.8 TB/s, 67 TFLOP/s float32, 495 TFLOP/s TF32, 989 TFLOP/s fp16"},
    {"NVIDIA H100 NVL", ""},
    {"NVIDIA H100 PCIe",
     "114 SMs, 50 MB of L2, 2.0 TB/s, 51 TFLOP/s float32, 378 TFLOP/s TF32, 756 TFLOP/s fp16"},
    {"NVIDIA H100",
     "132 SMs, 50 MB of L2, 3.35 TB/s, 67 TFLOP/s float32, 495 TFLOP/s TF32, 989 TFLOP/s fp16"},
    {"NVIDIA A100",
     "108 SMs, 40 MB of L2, 1.6 to 2.0 TB/s, 19.5 TFLOP/s float32, 156 TFLOP/s TF32, "
     "312 TFLOP/s fp16"},
};

struct Limits {
  const char* arch;
  const char* facts;
};

// CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute
// Capability".
constexpr Limits kLimits[] = {
    {"sm_80", "up to 163 KiB of shared memory per block, 64 warps per SM"},
    {"sm_86", "up to 99 KiB of shared memory per block, 48 warps per SM"},
    {"sm_89", "up to 99 KiB of shared memory per block, 48 warps per SM"},
    {"sm_90", "up to 227 KiB of shared memory per block, 64 warps per SM"},
    {"sm_100", "up to 227 KiB of shared memory per block, 64 warps per SM"},
    {"sm_120", "up to 99 KiB of shared memory per block, 48 warps per SM"},
};

}  // namespace

std::string DeviceFacts(const DeviceStamp& device) {
  std::string text =
      device.name + ", compiled for " + device.arch + ", CUDA " + device.cuda_version + ".";
  if (device.kind == "cpu") {
    text +=
        " There is no GPU here: kernels are interpreted and checked on the CPU, and times are "
        "estimates for the modelled GPU.";
  }
  // The CPU device is called "PTX interpreter (models NVIDIA H200)".
  const size_t begin = device.name.find("NVIDIA ");
  const std::string name = begin == std::string::npos ? "" : device.name.substr(begin);
  for (const Known& each : kDevices) {
    if (name.starts_with(each.name)) {
      if (*each.facts != 0) text += std::string(" Nominally: ") + each.facts + ".";
      break;
    }
  }
  std::string arch = device.arch;
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.pop_back();
  for (const Limits& each : kLimits) {
    if (arch == each.arch) {
      text += std::string(" It has ") + each.facts +
              ", 65536 registers per SM, at most 1024 threads per block.";
    }
  }
  return text;
}

}  // namespace cudaagent::prompt
