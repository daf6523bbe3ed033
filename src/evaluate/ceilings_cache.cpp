#include "evaluate/ceilings_cache.h"

#include "evaluate/keys.h"
#include "evaluate/reply_cache.h"

namespace cudaagent::evaluate {
namespace {

// Beside the baselines: both are measurements of this machine.
ReplyCache Cache(const std::string& cache_dir) {
  return ReplyCache(cache_dir.empty() ? "" : cache_dir + "/baselines");
}

}  // namespace

std::optional<Ceilings> FindCeilings(const std::string& cache_dir, const DeviceStamp& device) {
  auto reply = Cache(cache_dir).Find<protocol::CalibrationReply>(DeviceKey(device));
  return reply ? std::optional(reply->ceilings) : std::nullopt;
}

void KeepCeilings(const std::string& cache_dir, const DeviceStamp& device,
                  const Ceilings& ceilings) {
  Cache(cache_dir).Keep(DeviceKey(device), protocol::CalibrationReply{ceilings});
}

}  // namespace cudaagent::evaluate
