// The bytes a child writes: frames off a socket, then every message decoder.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "fuzz/fuzz.h"
#include "protocol/frame.h"
#include "protocol/messages.h"

namespace {

void Decode(const std::string& payload) {
  using namespace cudaagent::protocol;
  (void)DecodeToWorker(payload);
  (void)DecodeToCompiler(payload);
  auto message = DecodeFromChild(payload);
  if (message) {
    const std::string text = Encode(*message);
    auto again = DecodeFromChild(text);
    cudaagent::fuzz::Require(again.has_value(),
                             "what was decoded encodes to something that decodes");
    cudaagent::fuzz::Require(Encode(*again) == text, "encoding is stable");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cudaagent;
  Decode(std::string(fuzz::TextOf(data, size)));
  int ends[2];
  fuzz::Require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
                "a socket pair is to be had");
  const size_t sent = std::min<size_t>(size, 1 << 16);  // what fits a socket's buffer
  fuzz::Require(::send(ends[0], data, sent, MSG_DONTWAIT) == static_cast<ssize_t>(sent),
                "the buffer has room");
  ::close(ends[0]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  size_t frames = 0;
  for (;; ++frames) {
    protocol::ReadResult read = protocol::ReadFrame(ends[1], deadline);
    fuzz::Require(read.status != protocol::ReadStatus::kTimedOut,
                  "a closed socket never times out");
    if (read.status != protocol::ReadStatus::kFrame) break;
    Decode(read.payload);
  }
  fuzz::Require(frames <= sent / 4, "every frame has its length in front");
  ::close(ends[1]);
  return 0;
}
