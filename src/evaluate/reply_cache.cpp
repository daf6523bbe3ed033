#include "evaluate/reply_cache.h"

#include "util/file.h"
#include "util/hash.h"
#include "util/log.h"

namespace cudaagent::evaluate {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

}  // namespace

std::string ReplyCache::PathOf(const std::string& key) const {
  return folder_ + "/" + util::Sha256Hex(std::to_string(protocol::kProtocolVersion) + "\n" + key) +
         ".json";
}

std::optional<protocol::FromChild> ReplyCache::Read(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const Result<std::string> text = util::ReadFile(PathOf(key), kMaxBytes);
  if (!text) return std::nullopt;
  Result<protocol::FromChild> message = protocol::DecodeFromChild(*text);
  if (!message) return std::nullopt;
  return std::move(*message);
}

void ReplyCache::Keep(const std::string& key, const protocol::FromChild& reply) const {
  if (folder_.empty()) return;
  Result<void> kept = util::MakeDirs(folder_);
  if (kept) kept = util::WriteFileAtomic(PathOf(key), protocol::Encode(reply));
  if (!kept) util::LogWarn("A measurement is not kept for later runs. " + kept.error().message);
}

}  // namespace cudaagent::evaluate
