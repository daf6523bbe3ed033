// Frames on a socket: 4-byte little-endian length, then that many bytes of UTF-8 JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cudaagent/result.h"

namespace cudaagent::protocol {

inline constexpr size_t kMaxFrameBytes = 64u << 20;

// Blocks until all is written. kInternal on EPIPE and other errors, also when a send timeout set on
// the socket (SO_SNDTIMEO) passes; the stream is then unusable. Never raises SIGPIPE.
Result<void> WriteFrame(int fd, std::string_view payload);

// What reading gave. kEof only between frames; half a frame is kBroken.
enum class ReadStatus { kFrame, kEof, kBroken, kTimedOut };
struct ReadResult {
  ReadStatus status = ReadStatus::kBroken;
  std::string payload;
  std::string problem;  // for kBroken: what was wrong with the bytes
};
// Waits until `deadline` for one whole frame.
ReadResult ReadFrame(int fd, std::chrono::steady_clock::time_point deadline);

}  // namespace cudaagent::protocol
