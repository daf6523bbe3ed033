// Wall-clock stamps and deadlines.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

namespace cudaagent::util {

// Now in UTC as ISO 8601 with whole seconds: "2026-01-31T09:05:00Z".
std::string NowIso8601();

// A moment on the steady clock by which something must have happened.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline After(double seconds) {
    // Beyond a year is never; it also keeps the cast in range.
    const double bounded = std::clamp(seconds, 0.0, 3.2e7);
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(bounded)));
  }
  static Deadline Never() { return After(3.2e7); }
  explicit Deadline(Clock::time_point at) : at_(at) {}

  Clock::time_point at() const { return at_; }
  bool Passed() const { return Clock::now() >= at_; }
  // Never negative.
  double RemainingSeconds() const {
    return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count());
  }
  // For poll(2): rounded up, never negative.
  int RemainingMillis() const {
    return static_cast<int>(std::min(RemainingSeconds() * 1000 + 0.999, 2e9));
  }

 private:
  Clock::time_point at_;
};

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace cudaagent::util
