#include "config/trust.h"

#include <filesystem>

#include "util/file.h"
#include "util/paths.h"
#include "util/text.h"

namespace cudaagent::config {

TrustList TrustList::Load() {
  TrustList list(util::StateDir() + "/trusted");
  auto text = util::ReadFile(list.file_);
  if (!text) return list;
  constexpr size_t kHash = 64;
  for (const std::string& line : util::Split(*text, '\n')) {
    if (line.size() > kHash + 2) list.hashes_[line.substr(kHash + 2)] = line.substr(0, kHash);
  }
  return list;
}

Trust TrustList::Of(const std::string& path, const std::string& hash) const {
  auto found = hashes_.find(path);
  if (found == hashes_.end()) return Trust::kUnknown;
  return found->second == hash ? Trust::kTrusted : Trust::kChanged;
}

Result<void> TrustList::Add(const std::string& path, const std::string& hash) {
  if (path.find('\n') != std::string::npos) {
    return Fail(ErrorCode::kUsage,
                "A path with a line break cannot be trusted. Rename its folder.");
  }
  hashes_[path] = hash;
  return Save();
}

Result<bool> TrustList::Remove(const std::string& path) {
  if (hashes_.erase(path) == 0) return false;
  if (auto saved = Save(); !saved) return tl::unexpected(saved.error());
  return true;
}

Result<void> TrustList::Save() const {
  std::string text;
  for (const auto& [path, hash] : hashes_) text += hash + "  " + path + "\n";
  auto saved = util::MakeDirs(std::filesystem::path(file_).parent_path().string());
  if (saved) saved = util::WriteFileAtomic(file_, text);
  return saved;
}

}  // namespace cudaagent::config
