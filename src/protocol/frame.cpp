#include "protocol/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "util/time.h"

namespace cudaagent::protocol {
namespace {

// The first bytes of a hostile frame must not make us reserve 64 MiB before they arrive.
constexpr size_t kReadStepBytes = 1u << 20;

struct Progress {
  ReadStatus status = ReadStatus::kFrame;  // kFrame: all bytes came
  size_t got = 0;
  std::string problem;
};

// Reads exactly `size` bytes unless the deadline, the peer's end or an error comes first.
Progress ReadExactly(int fd, char* into, size_t size, const util::Deadline& deadline) {
  Progress progress;
  while (progress.got < size) {
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, deadline.RemainingMillis());
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      if (!deadline.Passed()) continue;
      progress.status = ReadStatus::kTimedOut;
      return progress;
    }
    const ssize_t n =
        ready < 0 ? -1 : ::recv(fd, into + progress.got, size - progress.got, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    // A peer that died with our bytes unread resets the connection: an end like any other.
    if (n == 0 || (n < 0 && errno == ECONNRESET)) {
      progress.status = ReadStatus::kEof;
      return progress;
    }
    if (n < 0) {
      progress.status = ReadStatus::kBroken;
      progress.problem = std::string("reading failed: ") + std::strerror(errno);
      return progress;
    }
    progress.got += static_cast<size_t>(n);
  }
  return progress;
}

ReadResult Broken(std::string problem) {
  return ReadResult{ReadStatus::kBroken, {}, std::move(problem)};
}

}  // namespace

Result<void> WriteFrame(int fd, std::string_view payload) {
  if (payload.size() > kMaxFrameBytes) {
    return Fail(ErrorCode::kInternal, "A message of " + std::to_string(payload.size()) +
                                          " bytes is larger than a frame may be (" +
                                          std::to_string(kMaxFrameBytes) + ").");
  }
  const auto length = static_cast<uint32_t>(payload.size());
  const std::array<char, 4> header = {
      static_cast<char>(length & 0xFF), static_cast<char>(length >> 8 & 0xFF),
      static_cast<char>(length >> 16 & 0xFF), static_cast<char>(length >> 24 & 0xFF)};
  for (std::string_view part : {std::string_view(header.data(), header.size()), payload}) {
    while (!part.empty()) {
      const ssize_t n = ::send(fd, part.data(), part.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        return Fail(ErrorCode::kInternal, "Writing a message failed: the reader takes nothing.");
      }
      if (n < 0) {
        return Fail(ErrorCode::kInternal,
                    std::string("Writing a message failed: ") + std::strerror(errno) + ".");
      }
      part.remove_prefix(static_cast<size_t>(n));
    }
  }
  return {};
}

ReadResult ReadFrame(int fd, std::chrono::steady_clock::time_point deadline) {
  const util::Deadline by(deadline);
  std::array<char, 4> header{};
  const Progress start = ReadExactly(fd, header.data(), header.size(), by);
  if (start.status == ReadStatus::kEof && start.got > 0) {
    return Broken("the stream ended inside a frame's length");
  }
  if (start.status != ReadStatus::kFrame) return ReadResult{start.status, {}, start.problem};
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  }
  if (length > kMaxFrameBytes) {
    return Broken("a frame claims " + std::to_string(length) + " bytes, more than the " +
                  std::to_string(kMaxFrameBytes) + " allowed");
  }
  ReadResult result{ReadStatus::kFrame, {}, {}};
  while (result.payload.size() < length) {
    const size_t from = result.payload.size();
    const size_t step = std::min(kReadStepBytes, length - from);
    result.payload.resize(from + step);
    const Progress body = ReadExactly(fd, result.payload.data() + from, step, by);
    if (body.status == ReadStatus::kFrame) continue;
    const std::string seen =
        std::to_string(from + body.got) + " of " + std::to_string(length) + " bytes";
    if (body.status == ReadStatus::kEof) return Broken("the stream ended after " + seen);
    return ReadResult{body.status, {}, body.problem};
  }
  return result;
}

}  // namespace cudaagent::protocol
