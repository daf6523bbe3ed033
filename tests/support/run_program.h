// Runs a program to its end and keeps what it printed. For tests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace cudaagent::test {

struct Finished {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string out, err;
  double seconds = 0;
};

class RunningProgram {
 public:
  // `environment` is added to the test's own; an empty value removes the variable.
  explicit RunningProgram(std::vector<std::string> argv,
                          std::map<std::string, std::string> environment = {}) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) abort();
    start_ = std::chrono::steady_clock::now();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(open("/dev/null", O_RDONLY), 0);
      dup2(out[1], 1);
      dup2(err[1], 2);
      for (const auto& [name, value] : environment) {
        value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
      }
      std::vector<char*> words;
      for (std::string& word : argv) words.push_back(word.data());
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }

  pid_t pid() const { return pid_; }

  // Reads until both streams end, then reaps.
  Finished Wait() {
    Finished finished;
    pollfd streams[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    std::string* texts[2] = {&finished.out, &finished.err};
    for (int open_streams = 2; open_streams > 0;) {
      poll(streams, 2, -1);
      for (int i = 0; i < 2; ++i) {
        if (streams[i].fd < 0 || streams[i].revents == 0) continue;
        char buffer[65536];
        const ssize_t n = read(streams[i].fd, buffer, sizeof buffer);
        if (n > 0) {
          texts[i]->append(buffer, n);
        } else {
          close(streams[i].fd);
          streams[i].fd = -1;
          --open_streams;
        }
      }
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    finished.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return finished;
  }

 private:
  pid_t pid_;
  int out_, err_;
  std::chrono::steady_clock::time_point start_;
};

inline Finished RunProgram(std::vector<std::string> argv,
                           std::map<std::string, std::string> environment = {}) {
  return RunningProgram(std::move(argv), std::move(environment)).Wait();
}

}  // namespace cudaagent::test
