// PTX text from a compiler that candidates steer: parsed, lowered, run on a small budget.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "device/ptx/ptx_device.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  using namespace cudaagent::device;
  const int fd = ::memfd_create("ptx", MFD_CLOEXEC);
  fuzz::Require(fd >= 0 && ::write(fd, data, size) == static_cast<ssize_t>(size),
                "memory is to be had");
  Artifact artifact;
  artifact.ptx_path = "/proc/self/fd/" + std::to_string(fd);
  ptx::PtxDevice device(*ptx::FindGpuModel("h200"), 200'000, ptx::BestExecutor(), 1);
  auto module = device.Load(artifact);
  ::close(fd);
  if (!module) return 0;
  static uint32_t buffer[64];
  std::memset(buffer, 0, sizeof buffer);
  device.SetRegions({{"data", buffer, sizeof buffer, true, true}});
  const void* address = buffer;
  Launch launch;
  launch.kernel = "k";
  launch.grid = {2, 1, 1};
  launch.block = {64, 1, 1};
  launch.params.resize(12);
  std::memcpy(launch.params.data(), &address, 8);
  launch.params[8] = std::byte{64};
  (void)(*module)->Run(launch);
  return 0;
}
