// CUDA C++ to PTX for tests, by the NVRTC at hand: the toolkit's or the wheel's beside torch.
#pragma once

#include <string>

namespace cudaagent::device::ptx::test {

// Empty where an NVRTC was found, else why not. Tests that need it skip with this text.
std::string NvrtcMissing();

// PTX for sm_90a with -lineinfo. Throws std::runtime_error with NVRTC's log.
std::string CompileToPtx(const std::string& source);
// The same source and options as machine code for `arch` ("sm_90a").
std::string CompileToCubin(const std::string& source, const std::string& arch);

}  // namespace cudaagent::device::ptx::test
