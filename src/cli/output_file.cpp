#include "cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "util/fd.h"
#include "util/file.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;

Result<void> WriteThrough(const std::string& path, const std::string& text) {
  const util::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  bool written = fd.valid();
  for (size_t done = 0; written && done < text.size();) {
    const ssize_t count = ::write(fd.get(), text.data() + done, text.size() - done);
    if (count > 0) done += static_cast<size_t>(count);
    written = count > 0 || (count < 0 && errno == EINTR);
  }
  if (written) return {};
  return Fail(ErrorCode::kEnvironment, "Cannot write " + path + ": " + std::strerror(errno) + ".");
}

}  // namespace

Result<void> WriteOutputFile(const std::string& path, const std::string& text) {
  if (path == "-") return Print(text);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    return WriteThrough(path, text);
  }
  if (!fs::is_symlink(fs::symlink_status(path, error))) return util::WriteFileAtomic(path, text);
  const fs::path target = fs::weakly_canonical(path, error);
  return util::WriteFileAtomic(error ? path : target.string(), text);
}

}  // namespace cudaagent::cli
