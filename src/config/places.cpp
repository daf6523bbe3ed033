#include "config/places.h"

#include <filesystem>

#include "util/paths.h"

namespace cudaagent::config {
namespace {

namespace fs = std::filesystem;
constexpr const char* kProjectFile = "cudaagent.toml";

// The work tree's root that `folder` lies in; `folder` itself outside one.
fs::path Root(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder;; at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored)) return at;
    if (at == at.parent_path()) return folder;
  }
}

}  // namespace

std::string ProjectFile(const std::string& folder) {
  std::error_code error;
  const fs::path start = fs::canonical(folder, error);
  if (error) return "";
  const fs::path root = Root(start);
  for (fs::path at = start;; at = at.parent_path()) {
    const fs::path file = at / kProjectFile;
    if (fs::exists(file, error)) return file.string();
    if (at == root || at == at.parent_path()) return "";
  }
}

std::string UserFile() { return util::ConfigDir() + "/config.toml"; }

}  // namespace cudaagent::config
