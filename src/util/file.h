// Files and folders. Every Error is kEnvironment unless said otherwise and names the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cudaagent/result.h"

namespace cudaagent::util {

// The whole file. A folder, an unreadable file or one larger than `max_bytes` is kUsage.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes = size_t{64} << 20);

// At most the last `max_bytes` of the file; empty where it cannot be read.
std::string ReadTail(const std::string& path, size_t max_bytes);

// Replaces `path` in one step: temporary file beside it, fsync, rename, fsync of the folder.
// Readers see the old text or the new, never half; on an error the old one is untouched. The folder
// must exist.
Result<void> WriteFileAtomic(const std::string& path, std::string_view text);

// mkdir -p.
Result<void> MakeDirs(const std::string& path);

// A fresh folder under $TMPDIR (else /tmp), removed with all it holds at destruction. Mode 0700.
class TempDir {
 public:
  static Result<TempDir> Create(const std::string& prefix);
  TempDir() = default;
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::string& path() const { return path_; }
  // Gives up ownership: the folder stays.
  std::string Release();

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace cudaagent::util
