#include "compile/jail.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "util/fd.h"

namespace cudaagent::compile {
namespace {

// linux/landlock.h of older distributions lacks half of these; the numbers are the kernel's ABI.
constexpr long kLandlockCreateRuleset = 444;
constexpr long kLandlockAddRule = 445;
constexpr long kLandlockRestrictSelf = 446;
constexpr uint32_t kCreateRulesetVersion = 1;
constexpr int kRulePathBeneath = 1;
// AddressSanitizer reserves terabytes of address space.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kCanLimitMemory = false;
#else
constexpr bool kCanLimitMemory = true;
#endif

constexpr uint64_t kWriteFile = 1u << 1, kReadFile = 1u << 2, kReadDir = 1u << 3;
constexpr uint64_t kRemoveFile = 1u << 5, kMakeReg = 1u << 8, kTruncate = 1u << 14;

struct RulesetAttr {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // ABI 4
  uint64_t scoped;              // ABI 6
};
struct __attribute__((packed)) PathBeneathAttr {
  uint64_t allowed_access;
  int32_t parent_fd;
};

int LandlockAbi() {
  return static_cast<int>(
      ::syscall(kLandlockCreateRuleset, nullptr, size_t{0}, kCreateRulesetVersion));
}

tl::unexpected<Error> Failed(const std::string& what) {
  return Fail(ErrorCode::kEnvironment,
              "The compile jail could not be entered: " + what + ": " + std::strerror(errno) + ".");
}

Result<void> Restrict(const JailLimits& limits) {
  const int abi = LandlockAbi();
  // Every right the running kernel knows is taken away: 13 in ABI 1, then REFER, TRUNCATE, IOCTL.
  const int rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
  RulesetAttr attr{(1u << rights) - 1, abi >= 4 ? 3u : 0u, abi >= 6 ? 3u : 0u};
  const size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const util::UniqueFd ruleset(
      static_cast<int>(::syscall(kLandlockCreateRuleset, &attr, size, 0u)));
  if (!ruleset.valid()) return Failed("landlock_create_ruleset");

  const auto allow = [&](const std::string& path, uint64_t access) {
    const util::UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!fd.valid()) return errno == ENOENT || errno == ENOTDIR;
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return false;
    if (!S_ISDIR(status.st_mode)) access &= kReadFile | kWriteFile | kTruncate;
    PathBeneathAttr rule{access, fd.get()};
    return ::syscall(kLandlockAddRule, ruleset.get(), kRulePathBeneath, &rule, 0u) == 0;
  };
  for (const std::string& path : limits.readable) {
    if (!allow(path, kReadFile | kReadDir)) return Failed("landlock_add_rule for " + path);
  }
  const uint64_t write =
      kReadFile | kWriteFile | kMakeReg | kRemoveFile | (abi >= 3 ? kTruncate : 0);
  for (const std::string& path : limits.writable) {
    if (!allow(path, write)) return Failed("landlock_add_rule for " + path);
  }
  if (::syscall(kLandlockRestrictSelf, ruleset.get(), 0u) != 0) {
    return Failed("landlock_restrict_self");
  }
  return {};
}

bool BindInto(const std::string& root, const std::string& path, bool writable) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return true;
  const std::string target = root + path;
  const bool is_dir = std::filesystem::is_directory(path, error);
  std::filesystem::create_directories(
      is_dir ? std::filesystem::path(target) : std::filesystem::path(target).parent_path(), error);
  if (error) return false;
  if (!is_dir) util::UniqueFd(::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (::mount(path.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  const unsigned long flags =
      MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | (writable ? 0 : MS_RDONLY);
  return ::mount(nullptr, target.c_str(), nullptr, flags, nullptr) == 0;
}

// Root can leave a chroot, so every capability goes with it.
bool DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return ::syscall(SYS_capset, &header, none) == 0;
}

Result<void> ChangeRoot(const JailLimits& limits) {
  char cwd[4096];
  if (::getcwd(cwd, sizeof cwd) == nullptr) return Failed("getcwd");
  if (::unshare(CLONE_NEWNS) != 0) return Failed("unshare");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return Failed("mount /");
  // Mounted over the empty working folder; only this namespace sees it.
  const std::string root = cwd;
  if (::mount("none", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755") != 0) {
    return Failed("mounting a tmpfs on " + root);
  }
  for (const std::string& path : limits.readable) {
    if (!BindInto(root, path, false)) return Failed("binding " + path);
  }
  for (const std::string& path : limits.writable) {
    if (!BindInto(root, path, true)) return Failed("binding " + path);
  }
  std::error_code error;
  std::filesystem::create_directories(root + root, error);  // the same working folder as outside
  if (::chroot(root.c_str()) != 0) return Failed("chroot");
  if (::chdir(root.c_str()) != 0) return Failed("chdir");
  if (!DropCapabilities()) return Failed("dropping capabilities");
  return {};
}

bool Limit(__rlimit_resource_t resource, rlim_t value) {
  rlimit now;
  if (::getrlimit(resource, &now) != 0) return false;
  now.rlim_max = std::min(now.rlim_max, value);
  now.rlim_cur = now.rlim_max;
  return ::setrlimit(resource, &now) == 0;
}

// Whether a child that enters the jail lives. Tried in a fork, for it cannot be undone.
bool CanEnter(JailKind kind) {
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) ::_exit(EnterJail(kind, {}) ? 0 : 1);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

const char* ToString(JailKind kind) {
  switch (kind) {
    case JailKind::kLandlock:
      return "landlock";
    case JailKind::kChroot:
      return "chroot";
    case JailKind::kNone:
      break;
  }
  return "none";
}

JailKind BestJail() {
  if (LandlockAbi() >= 1 && CanEnter(JailKind::kLandlock)) return JailKind::kLandlock;
  if (::geteuid() == 0 && CanEnter(JailKind::kChroot)) return JailKind::kChroot;
  return JailKind::kNone;
}

Result<void> EnterJail(JailKind kind, const JailLimits& limits) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("no_new_privs");
  if (kind == JailKind::kLandlock) {
    if (auto done = Restrict(limits); !done) return done;
  } else if (kind == JailKind::kChroot) {
    if (auto done = ChangeRoot(limits); !done) return done;
  }
  const auto file_bytes = static_cast<rlim_t>(std::max<int64_t>(limits.file_bytes, 0));
  if (!Limit(RLIMIT_CORE, 0) || !Limit(RLIMIT_FSIZE, file_bytes)) return Failed("setrlimit");
  if (limits.cpu_seconds > 0 &&
      !Limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(limits.cpu_seconds)))) {
    return Failed("setrlimit(RLIMIT_CPU)");
  }
  if (kCanLimitMemory && limits.memory_bytes > 0 &&
      !Limit(RLIMIT_AS, static_cast<rlim_t>(limits.memory_bytes))) {
    return Failed("setrlimit(RLIMIT_AS)");
  }
  return {};
}

void LeaveNetwork() {
  if (::unshare(CLONE_NEWNET) != 0) return;  // not root: nothing lost, compiles make no connection
}

}  // namespace cudaagent::compile
