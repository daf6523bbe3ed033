#include "evaluate/baseline_cache.h"

#include "util/file.h"
#include "util/hash.h"
#include "util/log.h"

namespace cudaagent::evaluate {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
// Raised when the way baselines are measured changes: old entries are then never found.
constexpr int kMeasurementVersion = 1;

}  // namespace

std::string BaselineCache::PathOf(const BaselineKey& key) const {
  std::string text = std::to_string(protocol::kProtocolVersion) + "\n" +
                     std::to_string(kMeasurementVersion) + "\n";
  for (const std::string& part :
       {key.problem_hash, key.device_uuid, key.torch_version, key.driver_version, key.precision}) {
    text += part + "\n";
  }
  text += key.warm_l2 ? "warm" : "cold";
  return folder_ + "/" + util::Sha256Hex(text) + ".json";
}

std::optional<protocol::BaselineReply> BaselineCache::Find(const BaselineKey& key) const {
  if (folder_.empty()) return std::nullopt;
  const Result<std::string> text = util::ReadFile(PathOf(key), kMaxBytes);
  if (!text) return std::nullopt;
  const Result<protocol::FromChild> message = protocol::DecodeFromChild(*text);
  if (!message) return std::nullopt;
  const auto* reply = std::get_if<protocol::BaselineReply>(&*message);
  return reply != nullptr ? std::optional(*reply) : std::nullopt;
}

void BaselineCache::Keep(const BaselineKey& key, const protocol::BaselineReply& reply) const {
  if (folder_.empty()) return;
  Result<void> kept = util::MakeDirs(folder_);
  if (kept) kept = util::WriteFileAtomic(PathOf(key), protocol::Encode(protocol::FromChild(reply)));
  if (!kept) util::LogWarn("The baseline is not kept for later runs. " + kept.error().message);
}

}  // namespace cudaagent::evaluate
