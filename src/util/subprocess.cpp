#include "util/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "util/time.h"

namespace cudaagent::util {
namespace {

constexpr int kSocketFd = 3;
constexpr int kErrorFd = 4;
// The parent's ends of what the child gets lie above the numbers the child assigns.
constexpr int kFirstSafeFd = 10;
constexpr double kDestructorWaitSeconds = 5;

// Runs work on one thread that lives as long as the process: PR_SET_PDEATHSIG fires when the
// *thread* that forked ends, so no fork may happen on a thread that will.
class ForkThread {
 public:
  static ForkThread& Get() {
    static ForkThread* const thread =
        new ForkThread;  // never destroyed: the thread outlives main()
    return *thread;
  }

  void Run(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    bool done = false;
    queue_.push_back([&] {
      work();
      std::lock_guard inner(mutex_);
      done = true;
    });
    changed_.notify_all();
    changed_.wait(lock, [&] { return done; });
  }

 private:
  ForkThread() {
    std::thread([this] { Loop(); }).detach();
  }

  void Loop() {
    // Signals are for the threads that handle them.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !queue_.empty(); });
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
};

// All the child needs between fork and exec, made before: nothing there may allocate.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* working_dir = nullptr;
  int null_fd, log_fd, socket_fd, error_fd;
  pid_t parent;
};

void CloseFrom(int first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0) == 0) return;
#endif
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (int fd = first; fd < last; ++fd) ::close(fd);
}

// Async-signal-safe calls only. Writes errno to the error pipe and exits where a step fails.
[[noreturn]] void BecomeChild(const ChildPlan& plan) {
  const auto fail = [] {
    const int error = errno;
    [[maybe_unused]] const ssize_t ignored = ::write(kErrorFd, &error, sizeof error);
    ::_exit(127);
  };
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::setpgid(0, 0);
  if (::dup2(plan.error_fd, kErrorFd) < 0) ::_exit(127);
  ::fcntl(kErrorFd, F_SETFD, FD_CLOEXEC);
  if (::dup2(plan.null_fd, 0) < 0 || ::dup2(plan.log_fd, 1) < 0 || ::dup2(plan.log_fd, 2) < 0 ||
      ::dup2(plan.socket_fd, kSocketFd) < 0) {
    fail();
  }
  CloseFrom(kErrorFd + 1);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above
  if (plan.working_dir != nullptr && ::chdir(plan.working_dir) != 0) fail();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  fail();
  ::_exit(127);
}

// `fd` moved to a number no smaller than kFirstSafeFd, close-on-exec.
UniqueFd Lift(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstSafeFd)); }

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

tl::unexpected<Error> CannotStart(const std::string& program, const std::string& why) {
  return Fail(ErrorCode::kEnvironment, "Cannot start " + program + ": " + why + ".");
}

}  // namespace

std::string Death::InWords() const {
  if (!signalled) return "exited with status " + std::to_string(code);
  const char* name = ::sigabbrev_np(code);
  return "was killed by signal " + std::to_string(code) +
         (name != nullptr ? " (SIG" + std::string(name) + ")" : "");
}

Result<Subprocess> Subprocess::Spawn(const SpawnOptions& options) {
  const std::string& program = options.argv.at(0);
  const auto failed = [&](const char* what) {
    return CannotStart(program, std::string(what) + ": " + std::strerror(errno));
  };
  UniqueFd null_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  UniqueFd log_fd(
      options.log_path.empty()
          ? ::open("/dev/null", O_WRONLY | O_CLOEXEC)
          : ::open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!null_fd.valid()) return failed("opening /dev/null");
  if (!log_fd.valid()) {
    return CannotStart(program,
                       "opening its log " + options.log_path + ": " + std::strerror(errno));
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
  UniqueFd error_read(ends[0]);
  UniqueFd error_write(ends[1]);
  const UniqueFd safe_null = Lift(null_fd.get()), safe_log = Lift(log_fd.get());
  const UniqueFd safe_socket = Lift(theirs.get());
  UniqueFd safe_error = Lift(error_write.get());
  if (!safe_null.valid() || !safe_log.valid() || !safe_socket.valid() || !safe_error.valid()) {
    return failed("duplicating descriptors");
  }

  ChildPlan plan;
  plan.argv = Pointers(options.argv);
  plan.environment = Pointers(options.environment);
  if (!options.working_dir.empty()) plan.working_dir = options.working_dir.c_str();
  plan.null_fd = safe_null.get();
  plan.log_fd = safe_log.get();
  plan.socket_fd = safe_socket.get();
  plan.error_fd = safe_error.get();
  plan.parent = ::getpid();

  pid_t pid = -1;
  int fork_error = 0;
  ForkThread::Get().Run([&] {
    pid = ::fork();
    if (pid == 0) BecomeChild(plan);
    fork_error = errno;
  });
  if (pid < 0) {
    errno = fork_error;
    return failed("fork");
  }
  Subprocess child;
  child.pid_ = pid;
  child.socket_ = std::move(ours);
  error_write.reset();
  safe_error.reset();
  int error = 0;
  ssize_t got;
  do {
    got = ::read(error_read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    child.Wait(kDestructorWaitSeconds);
    return CannotStart(program, std::strerror(error));
  }
  return child;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      death_(std::exchange(other.death_, std::nullopt)) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this != &other) {
    const Subprocess old(std::move(*this));
    pid_ = std::exchange(other.pid_, -1);
    socket_ = std::move(other.socket_);
    death_ = std::exchange(other.death_, std::nullopt);
  }
  return *this;
}

Subprocess::~Subprocess() {
  if (running()) Kill(kDestructorWaitSeconds);
}

void Subprocess::Signal(int signal) const {
  if (running()) ::kill(-pid_, signal);
}

std::optional<Death> Subprocess::Wait(double seconds) {
  const Deadline deadline = Deadline::After(seconds);
  auto pause = std::chrono::microseconds(200);
  while (running()) {
    // WNOWAIT leaves the zombie, so that its number still names our group while we kill the rest.
    siginfo_t info{};
    const int result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (result == 0 && info.si_pid == pid_) {
      ::kill(-pid_, SIGKILL);
      int status = 0;
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
      death_ =
          WIFSIGNALED(status) ? Death{true, WTERMSIG(status)} : Death{false, WEXITSTATUS(status)};
      pid_ = -1;
      break;
    }
    if (result != 0 && errno != EINTR) {  // reaped behind our back: nothing is left to know
      death_ = Death{false, -1};
      pid_ = -1;
      break;
    }
    if (deadline.Passed()) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(10000));
  }
  return death_;
}

std::optional<Death> Subprocess::Kill(double seconds) {
  Signal(SIGKILL);
  return Wait(seconds);
}

}  // namespace cudaagent::util
