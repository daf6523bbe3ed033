// The version of the installed NVIDIA driver.
#pragma once

#include <string>
#include <string_view>

namespace cudaagent::device::gpu {

// "580.159.04", from NVML, else from /proc; empty where neither tells.
std::string DriverVersion();

// The version in the text of /proc/driver/nvidia/version; empty where there is none.
std::string ParseDriverVersion(std::string_view text);

}  // namespace cudaagent::device::gpu
