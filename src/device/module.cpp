#include <algorithm>

#include "device/device.h"

namespace cudaagent::device {
namespace {

constexpr int64_t kThreadsPerSm = 2048, kBlocksPerSm = 32, kSharedPerSm = 228 << 10;
constexpr int64_t kReservedShared = 1 << 10;  // per block, the system's own

}  // namespace

Checked<int64_t> Module::BlocksPerSm(const std::string& mangled, int64_t threads,
                                     int64_t shared_bytes) {
  auto info = Kernel(mangled);
  if (!info) return tl::unexpected(info.error());
  const int64_t whole_warps = (threads + 31) / 32 * 32;
  const int64_t shared = shared_bytes + info->resources.static_shared_bytes + kReservedShared;
  return std::min({kThreadsPerSm / whole_warps, kBlocksPerSm, kSharedPerSm / shared});
}

}  // namespace cudaagent::device
