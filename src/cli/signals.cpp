#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace cudaagent::cli {
namespace {

std::atomic<int> stop_signal{0};

void OnSignal(int signal) {
  int none = 0;
  if (!stop_signal.compare_exchange_strong(none, signal)) _exit(128 + signal);
  constexpr char kNotice[] = "\nStopping after what runs now; press Ctrl-C again to stop at once.\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kNotice, sizeof kNotice - 1);
}

}  // namespace

void InstallSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // writing past `ulimit -f` is an error like a full disk, no death
}

int StopSignal() { return stop_signal; }

}  // namespace cudaagent::cli
