#include "compile/frozen_clock.h"

#include <stdlib.h>
#include <time.h>

namespace {

constexpr time_t kMoment = 946'728'000;  // 2000-01-01 12:00:00 UTC
bool frozen = false;

}  // namespace

// The dynamic linker finds the program's own function first, for NVRTC too.
extern "C" time_t time(time_t* into) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const time_t answer = frozen ? kMoment : now.tv_sec;
  if (into != nullptr) *into = answer;
  return answer;
}

namespace cudaagent::compile {

void FreezeClock() {
  ::setenv("TZ", "UTC0", 1);
  ::tzset();
  frozen = true;
}

}  // namespace cudaagent::compile
