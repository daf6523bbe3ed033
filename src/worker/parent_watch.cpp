#include "worker/parent_watch.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace cudaagent::worker {

void ExitWhenPeerHangsUp(int fd) {
  std::thread([fd] {
    while (true) {
      // No POLLIN: readable bytes are the main thread's affair and must not wake this one.
      pollfd entry{fd, POLLRDHUP, 0};
      const int ready = poll(&entry, 1, -1);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0 || (entry.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0) _exit(0);
    }
  }).detach();
}

}  // namespace cudaagent::worker
