// The worker's end of the socket: messages in, stage notes and replies out.
#pragma once

#include <optional>
#include <string>

#include "protocol/messages.h"

namespace cudaagent::worker {

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  // Blocks until bytes (or the end) can be read, without reading any.
  void WaitReadable() const;
  // The next message. nullopt: the driver has closed its end. kInternal: the bytes are no message.
  Result<std::optional<protocol::ToWorker>> Receive();
  // A failure to send means the driver is gone: the process ends.
  void Send(const protocol::FromChild& message);
  // "load" | "check" | "time" | "baseline", before the work begins.
  void EnterStage(const std::string& stage) { Send(protocol::StageNote{stage}); }

 private:
  int fd_;
};

}  // namespace cudaagent::worker
