#include "worker/channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "protocol/frame.h"
#include "util/log.h"
#include "util/time.h"

namespace cudaagent::worker {

void Channel::WaitReadable() const {
  pollfd entry{fd_, POLLIN, 0};
  while (poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
}

Result<std::optional<protocol::ToWorker>> Channel::Receive() {
  protocol::ReadResult read;
  do {
    read = protocol::ReadFrame(fd_, util::Deadline::Never().at());
  } while (read.status == protocol::ReadStatus::kTimedOut);
  if (read.status == protocol::ReadStatus::kEof) return std::nullopt;
  if (read.status == protocol::ReadStatus::kBroken) {
    return Fail(ErrorCode::kInternal, "A broken frame came from the driver: " + read.problem);
  }
  auto message = protocol::DecodeToWorker(read.payload);
  if (!message) return tl::unexpected<Error>(message.error());
  return std::optional<protocol::ToWorker>(std::move(*message));
}

void Channel::Send(const protocol::FromChild& message) {
  if (auto written = protocol::WriteFrame(fd_, protocol::Encode(message)); !written) {
    util::LogError(written.error().message);
    _exit(0);
  }
}

}  // namespace cudaagent::worker
