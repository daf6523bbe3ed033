#include "store/run_folder.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "store/run_files.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::store {
namespace {

namespace fs = std::filesystem;

constexpr double kLockWaitSeconds = 0.5;

}  // namespace

std::string CompactNow() {
  std::string now = util::NowIso8601();
  now.erase(std::remove_if(now.begin(), now.end(), [](char c) { return c == '-' || c == ':'; }),
            now.end());
  return now;
}

namespace {

std::string Slug(const std::string& path) {
  std::string slug = fs::path(path).stem().string().substr(0, 40);
  for (char& c : slug) {
    if (!isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '-';
  }
  return slug.empty() ? "model" : slug;
}

std::string FreshFolder(const RunDescription& description) {
  const std::string identity = description.spec.source + CompactNow() + std::to_string(getpid());
  return fmt::format("runs/{}-{}-{}", CompactNow(), Slug(description.spec.path),
                     util::Sha256Hex(identity).substr(0, 6));
}

// runs/latest -> the newest run. A convenience: failing to make it fails nothing.
void PointLatestAt(const std::string& folder) {
  std::error_code ignored;
  const fs::path link = fs::path(folder).parent_path() / "latest";
  if (fs::exists(link, ignored) && !fs::is_symlink(link, ignored)) return;
  const fs::path fresh = fs::path(folder).parent_path() / fmt::format(".latest-{}", getpid());
  fs::create_directory_symlink(fs::path(folder).filename(), fresh, ignored);
  if (!ignored) fs::rename(fresh, link, ignored);
}

// Locks of the open file description: they end with the process, and can be asked about without
// being taken.
struct flock WholeFile() {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

std::string LockPath(const std::string& folder) { return folder + "/lock"; }

tl::unexpected<Error> Locked(const std::string& folder) {
  return Fail(
      ErrorCode::kUsage,
      fmt::format("Another cudaagent writes the run in {}. Wait for it, or name another folder "
                  "with --out.",
                  folder));
}

Result<util::UniqueFd> Lock(const std::string& folder) {
  const std::string path = LockPath(folder);
  util::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) {
    return Fail(ErrorCode::kEnvironment,
                fmt::format("Could not create {}: {}.", path, strerror(errno)));
  }
  struct flock whole = WholeFile();
  // A killed driver's child holds the lock until it has become its program.
  const auto deadline = util::Deadline::After(kLockWaitSeconds);
  while (fcntl(fd.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) {
      return Fail(ErrorCode::kEnvironment,
                  fmt::format("Could not lock {}: {}.", path, strerror(errno)));
    }
    if (deadline.Passed()) return Locked(folder);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return fd;
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

bool IsBeingWritten(const std::string& folder) {
  const util::UniqueFd fd(open(LockPath(folder).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock whole = WholeFile();
  return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

Result<std::unique_ptr<RunFolder>> RunFolder::Open(const std::string& folder) {
  auto lock = Lock(folder);
  if (!lock) return tl::unexpected(lock.error());
  auto database = RunDatabase::OpenToWrite(folder + "/run.db");
  if (!database) return tl::unexpected(database.error());
  return std::unique_ptr<RunFolder>(new RunFolder(folder, std::move(*lock), std::move(*database)));
}

Result<std::unique_ptr<RunFolder>> RunFolder::Create(const std::string& out,
                                                     RunDescription description) {
  const std::string folder =
      fs::absolute(out.empty() ? FreshFolder(description) : out).lexically_normal().string();
  if (auto made = util::MakeDirs(folder + "/attempts"); !made) return tl::unexpected(made.error());
  const bool foreign = !Exists(folder + "/run.db") && Exists(folder + "/run.json");
  auto run = Open(folder);
  if (!run) return run;
  auto holds = (*run)->database_.HoldsRun();
  if (!holds) return tl::unexpected(holds.error());
  if (foreign || *holds) {
    return Fail(
        ErrorCode::kUsage,
        fmt::format(
            "{} already holds a run. {}Name another folder with --out.", folder,
            *holds ? "To go on with it: cudaagent optimize --resume " + folder + ". " : ""));
  }
  description.started = util::NowIso8601();
  if (auto begun = (*run)->database_.Begin(description); !begun)
    return tl::unexpected(begun.error());
  if (auto written = WriteRunFile(folder, description); !written)
    return tl::unexpected(written.error());
  (*run)->description_ = std::move(description);
  (*run)->becomes_latest_ = out.empty();
  return run;
}

Result<std::unique_ptr<RunFolder>> RunFolder::Resume(const std::string& folder) {
  auto run = Open(fs::absolute(folder).lexically_normal().string());
  if (!run) return run;
  auto holds = (*run)->database_.HoldsRun();
  if (!holds) return tl::unexpected(holds.error());
  if (!*holds) {
    return Fail(
        ErrorCode::kUsage,
        fmt::format("The run in {} was stopped before it began. Start it again: cudaagent optimize "
                    "MODEL.py --out {}",
                    folder, folder));
  }
  auto before = (*run)->database_.Read();
  if (!before) return tl::unexpected(before.error());
  if (auto whole = RepairFiles((*run)->folder_, *before); !whole)
    return tl::unexpected(whole.error());
  (*run)->description_ = before->description;
  (*run)->before_ = std::move(*before);
  return run;
}

Result<void> RunFolder::Continue(const FlagValues& flags) {
  description_.flags = flags;
  if (auto saved = database_.Continue(flags); !saved) return saved;
  return WriteRunFile(folder_, description_);
}

Result<void> RunFolder::SaveAttempt(const Attempt& attempt, const Proposal* proposal,
                                    bool new_best) {
  if (auto saved = database_.SaveAttempt(attempt, proposal, new_best); !saved) return saved;
  // Only now: a run that never got this far must not stand before one that did.
  if (std::exchange(becomes_latest_, false)) PointLatestAt(folder_);
  if (auto written = WriteAttemptFiles(folder_, attempt, proposal); !written) return written;
  return new_best ? WriteBestFiles(folder_, attempt, description_) : Result<void>{};
}

Result<void> RunFolder::SaveConfirmation(const Attempt& attempt, const Attempt* best) {
  auto saved = database_.SaveConfirmation(attempt, best == nullptr ? -1 : best->number);
  if (!saved) return saved;
  if (auto written = WriteConfirmationFile(folder_, attempt); !written) return written;
  return best == nullptr ? RemoveBestFiles(folder_) : WriteBestFiles(folder_, *best, description_);
}

Result<void> RunFolder::End(const std::string& stopped, bool finished, double elapsed_s,
                            const std::string& summary) {
  // The summary first: a run that the database calls finished is whole.
  if (auto written = util::WriteFileAtomic(folder_ + "/summary.json", summary); !written)
    return written;
  return database_.End(stopped, finished, elapsed_s);
}

}  // namespace cudaagent::store
