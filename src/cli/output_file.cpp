#include "cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "util/fd.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;

Error CannotWrite(const std::string& path, int number) {
  return {ErrorCode::kEnvironment, "Cannot write " + path + ": " + std::strerror(number) + "."};
}

Result<void> WriteThrough(const std::string& path, const std::string& text) {
  const util::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  bool written = fd.valid();
  for (size_t done = 0; written && done < text.size();) {
    const ssize_t count = ::write(fd.get(), text.data() + done, text.size() - done);
    if (count > 0) done += static_cast<size_t>(count);
    written = count > 0 || (count < 0 && errno == EINTR);
  }
  if (written) return {};
  return tl::unexpected(CannotWrite(path, errno));
}

// The file that stands at the end of symbolic links.
std::string Target(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

Result<void> WriteOutputFile(const std::string& path, const std::string& text) {
  if (path == "-") return Print(text);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    return WriteThrough(path, text);
  }
  return util::WriteFileAtomic(Target(path), text);
}

Result<void> TryOutputFile(const std::string& path) {
  if (path == "-") return {};
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return tl::unexpected(CannotWrite(path, EISDIR));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (::access(path.c_str(), W_OK) == 0) return {};
    return tl::unexpected(CannotWrite(path, errno));
  }
  // It is replaced by a file that is made beside it: so one is.
  std::string beside = Target(path) + ".XXXXXX";
  const util::UniqueFd probe(::mkstemp(beside.data()));
  if (!probe.valid()) return tl::unexpected(CannotWrite(path, errno));
  ::unlink(beside.c_str());
  return {};
}

}  // namespace cudaagent::cli
