#include "compile/forked_task.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cudaagent::compile {
namespace {

constexpr int kChildPipe = 3;

void CloseFrom(int first) {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, 0u) == 0) return;
  for (int fd = first; fd < 1024; ++fd) ::close(fd);
}

[[noreturn]] void RunChild(const std::function<int(int)>& body, int pipe, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  if (pipe != kChildPipe) ::dup2(pipe, kChildPipe);
  ::fcntl(kChildPipe, F_SETFD, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null > 0) ::dup2(null, STDIN_FILENO);
  CloseFrom(kChildPipe + 1);
  ::_exit(body(kChildPipe));
}

}  // namespace

Result<ForkedTask> ForkedTask::Start(const std::function<int(int)>& body, double timeout_s,
                                     size_t max_bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Fail(ErrorCode::kEnvironment,
                std::string("No pipe could be made for a compile: ") + std::strerror(errno) + ".");
  }
  ForkedTask task;
  task.pipe_.reset(ends[0]);
  util::UniqueFd write_end(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(body, ends[1], parent);
  if (pid < 0) {
    return Fail(
        ErrorCode::kEnvironment,
        std::string("No process could be started for a compile: ") + std::strerror(errno) + ".");
  }
  task.pid_ = pid;
  task.max_bytes_ = max_bytes;
  task.deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(std::max(timeout_s, 0.0)));
  return task;
}

ForkedTask::ForkedTask(ForkedTask&& other) noexcept { *this = std::move(other); }

ForkedTask& ForkedTask::operator=(ForkedTask&& other) noexcept {
  if (this == &other) return *this;
  Kill();
  if (pid_ > 0) Finish();
  pid_ = std::exchange(other.pid_, -1);
  pipe_ = std::move(other.pipe_);
  deadline_ = other.deadline_;
  max_bytes_ = other.max_bytes_;
  output_ = std::move(other.output_);
  end_ = other.end_;
  return *this;
}

ForkedTask::~ForkedTask() {
  Kill();
  if (pid_ > 0) Finish();
}

void ForkedTask::Kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

bool ForkedTask::Read() {
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(pipe_.get(), buffer, sizeof buffer);
    if (n > 0) {
      if (output_.size() + static_cast<size_t>(n) > max_bytes_) {
        end_.overflowed = true;
        Kill();
        return true;
      }
      output_.append(buffer, static_cast<size_t>(n));
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno == EAGAIN) {
      break;
    } else {
      return true;
    }
  }
  if (Clock::now() < deadline_) return false;
  end_.timed_out = true;
  Kill();
  return true;
}

ForkedTask::End ForkedTask::Finish() {
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0) {
    if (errno != EINTR) break;
  }
  pid_ = -1;
  pipe_.reset();
  end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end_.peak_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  end_.cpu_seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  return end_;
}

}  // namespace cudaagent::compile
