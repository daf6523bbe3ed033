#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

namespace cudaagent::cli {
namespace {

std::atomic<int> stop_signal{0};

void OnSignal(int signal) {
  int none = 0;
  if (!stop_signal.compare_exchange_strong(none, signal)) _exit(128 + signal);
  constexpr std::string_view kPressed =
      "\nStopping after what runs now; press Ctrl-C again to stop at once.\n";
  constexpr std::string_view kTold =
      "\nSIGTERM: stopping after what runs now; a second signal stops at once.\n";
  const std::string_view notice = signal == SIGINT ? kPressed : kTold;
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, notice.data(), notice.size());
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
