#include "util/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "util/fd.h"

namespace cudaagent::util {
namespace {

tl::unexpected<Error> FailErrno(ErrorCode code, const std::string& what, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    return Fail(ErrorCode::kEnvironment,
                what + ": the disk is full. Free some space there and try again.");
  }
  return Fail(code, what + ": " + std::strerror(error) + ".");
}

// 0, or the errno that stopped it.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return FailErrno(ErrorCode::kUsage, "Cannot read " + path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return FailErrno(ErrorCode::kUsage, "Cannot read " + path, errno);
  }
  if (S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kUsage, "Cannot read " + path + ": it is a folder, not a file.");
  }
  const std::string too_large = "Cannot read " + path + ": it is larger than the " +
                                std::to_string(max_bytes) + " bytes allowed here.";
  if (S_ISREG(info.st_mode) && static_cast<uintmax_t>(info.st_size) > max_bytes) {
    return Fail(ErrorCode::kUsage, too_large);
  }
  std::string text;
  char chunk[65536];
  while (true) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(ErrorCode::kUsage, "Cannot read " + path, errno);
    if (n == 0) return text;
    text.append(chunk, static_cast<size_t>(n));
    if (text.size() > max_bytes) return Fail(ErrorCode::kUsage, too_large);
  }
}

std::string ReadTail(const std::string& path, size_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  const off_t size = info.st_size;
  const off_t from =
      size > static_cast<off_t>(max_bytes) ? size - static_cast<off_t>(max_bytes) : 0;
  std::string text(static_cast<size_t>(size - from), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = ::pread(fd.get(), text.data() + filled, text.size() - filled,
                              from + static_cast<off_t>(filled));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    filled += static_cast<size_t>(n);
  }
  text.resize(filled);
  return text;
}

Result<void> WriteFileAtomic(const std::string& path, std::string_view text) {
  static std::atomic<unsigned> counter{0};
  const std::string what = "Cannot write " + path;
  const std::string temporary =
      path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter.fetch_add(1));
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return FailErrno(ErrorCode::kEnvironment, what, errno);
  int error = WriteAll(fd.get(), text);
  if (error == 0 && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  // A network file system may report a full disk only here.
  if (::close(fd.release()) != 0 && error == 0 && errno != EINTR) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return FailErrno(ErrorCode::kEnvironment, what, error);
  }
  UniqueFd folder(::open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) ::fsync(folder.get());
  return {};
}

Result<void> MakeDirs(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return FailErrno(ErrorCode::kEnvironment, "Cannot create the folder " + path, error.value());
  }
  if (!std::filesystem::is_directory(path, error)) {
    return Fail(ErrorCode::kEnvironment,
                "Cannot create the folder " + path + ": something else has that name.");
  }
  return {};
}

Result<TempDir> TempDir::Create(const std::string& prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string pattern =
      std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/" + prefix + "-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) {
    return FailErrno(ErrorCode::kEnvironment, "Cannot create a temporary folder " + pattern, errno);
  }
  return TempDir(std::move(pattern));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    TempDir old(std::exchange(path_, std::exchange(other.path_, {})));
  }
  return *this;
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::Release() { return std::exchange(path_, {}); }

}  // namespace cudaagent::util
