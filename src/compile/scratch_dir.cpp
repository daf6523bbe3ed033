#include "compile/scratch_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "util/file.h"
#include "util/text.h"

namespace cudaagent::compile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "/lock";

util::UniqueFd OpenLock(const std::string& path) {
  return util::UniqueFd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
}

void RemoveAbandoned(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const std::string path = entry.path().string();
    if (!util::StartsWith(entry.path().filename().string(), "run-")) continue;
    const util::UniqueFd lock = OpenLock(path + kLockFile);
    if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  }
}

}  // namespace

Result<ScratchDir> ScratchDir::Create(const std::string& parent) {
  if (auto made = util::MakeDirs(parent); !made) return tl::unexpected(made.error());
  // Held while a folder is made and locked, so that none is taken for abandoned in between.
  const util::UniqueFd gate = OpenLock(parent + kLockFile);
  ScratchDir dir;
  std::string path = parent + "/run-XXXXXX";
  if (gate.valid() && ::flock(gate.get(), LOCK_EX) == 0) {
    RemoveAbandoned(parent);
    if (::mkdtemp(path.data()) != nullptr) {
      dir.path_ = path;
      dir.lock_ = OpenLock(path + kLockFile);
      if (dir.lock_.valid() && ::flock(dir.lock_.get(), LOCK_EX | LOCK_NB) == 0) return dir;
    }
  }
  return Fail(ErrorCode::kEnvironment, "No private folder could be made in " + parent + ": " +
                                           std::strerror(errno) +
                                           ". Name another one with --cache-dir.");
}

ScratchDir::~ScratchDir() {
  if (path_.empty()) return;
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace cudaagent::compile
