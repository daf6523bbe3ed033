#include "evaluate/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "util/text.h"
#include "util/time.h"

namespace cudaagent::evaluate {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);

// /tmp is everybody's: the folder must be ours, and no link.
Result<void> MakeOwnFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Fail(ErrorCode::kEnvironment, "Cannot create the folder for device locks, " + folder +
                                             ": " + std::strerror(errno) + ".");
  }
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) {
    return Fail(ErrorCode::kEnvironment, "The folder for device locks, " + folder +
                                             ", does not belong to this user. Remove it.");
  }
  return {};
}

std::string LockName(const std::string& uuid) {
  std::string name;
  for (char c : uuid) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain || c == '-' ? c : '_';
  }
  return "gpu-" + name + ".lock";
}

}  // namespace

Result<DeviceLock> DeviceLock::Take(const std::string& folder, const std::string& uuid, Kind kind,
                                    double wait_s,
                                    const std::function<void(const std::string&)>& progress) {
  if (Result<void> made = MakeOwnFolder(folder); !made) return tl::unexpected(made.error());
  const std::string path = folder + "/" + LockName(uuid);
  util::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return Fail(ErrorCode::kEnvironment,
                "Cannot open the device lock " + path + ": " + std::strerror(errno) + ".");
  }
  const util::Deadline deadline = util::Deadline::After(wait_s);
  const int operation = (kind == Kind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  for (bool told = false; ::flock(file.get(), operation) != 0; told = true) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Fail(ErrorCode::kEnvironment,
                  "Cannot lock " + path + ": " + std::strerror(errno) + ".");
    }
    if (deadline.Passed()) {
      return Fail(ErrorCode::kEnvironment,
                  "Another cudaagent still uses this GPU after " + util::FormatSeconds(wait_s) +
                      ". Wait for it to end, or take another GPU with --device gpu:N. (" + path +
                      ")");
    }
    if (!told && progress) {
      progress("waiting for another cudaagent to leave this GPU, at most " +
               util::FormatSeconds(wait_s));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return DeviceLock(std::move(file));
}

}  // namespace cudaagent::evaluate
