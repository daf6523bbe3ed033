#include "cache/cubins.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace cudaagent::cache {
namespace {

namespace fs = std::filesystem;

std::optional<std::time_t> LastChange(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mtime;
}

}  // namespace

std::vector<Entry> CubinEntries(const std::string& dir) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& shelf : fs::directory_iterator(dir + "/entries", error)) {
    std::error_code shelf_error;
    for (const auto& folder : fs::directory_iterator(shelf.path(), shelf_error)) {
      const std::string path = folder.path().string();
      // Every hit touches reply.json; an entry without one is damaged and counts as the oldest.
      entries.push_back({path, BytesBelow(path), LastChange(path + "/reply.json").value_or(0)});
    }
  }
  return entries;
}

int64_t BytesBelow(const std::string& folder) {
  int64_t bytes = 0;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    const auto size = at->file_size(ignored);
    if (!ignored) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

void RemoveCubin(const std::string& entry, const std::string& dir) {
  std::string aside = dir + "/tmp/gone-XXXXXX";
  std::error_code error;
  if (::mkdtemp(aside.data()) != nullptr) {
    if (::rename(entry.c_str(), (aside + "/entry").c_str()) != 0 && errno != ENOENT) {
      fs::remove_all(entry, error);
    }
    fs::remove_all(aside, error);
  } else {  // a full disk can lack the room for one more folder
    fs::remove_all(entry, error);
  }
}

void RemoveAbandoned(const std::string& dir) {
  constexpr std::time_t kAbandonedSeconds = 3600;
  const std::time_t now = std::time(nullptr);
  std::error_code tmp_error, error;
  for (const auto& folder : fs::directory_iterator(dir + "/tmp", tmp_error)) {
    const auto made = LastChange(folder.path().string());
    if (made && now - *made > kAbandonedSeconds) fs::remove_all(folder.path(), error);
  }
}

}  // namespace cudaagent::cache
