// Clocks iterations on the current torch stream: CUDA events around each, and, while tracing, what
// CUPTI saw of it.
#pragma once

#include <cuda.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "device/gpu/driver.h"
#include "device/guard.h"
#include "measure/activity.h"
#include "measure/cupti.h"
#include "measure/interleave.h"
#include "measure/nvml.h"
#include "measure/observations.h"

namespace cudaagent::measure {

class GpuClock : public IterationClock {
 public:
  // `driver` and `cupti` must outlive it. `flush_bytes` are written and as many others
  // read before each iteration; 0 = warm.
  static Checked<GpuClock> Create(const device::gpu::Driver& driver, Cupti& cupti,
                                  size_t contenders, const std::vector<std::string>& own_kernels,
                                  int64_t flush_bytes, device::Guard guard);
  ~GpuClock() override;
  GpuClock(GpuClock&& other) noexcept;
  GpuClock& operator=(GpuClock&&) = delete;

  // Tracing on or off for the following iterations. False where CUPTI refuses.
  bool Trace(bool on);
  bool tracing() const { return tracing_; }

  // Waits for the device, empties the cache and starts behind that without another wait.
  Checked<void> Begin(size_t contender) override;
  Checked<void> End(size_t contender) override;
  Checked<void> Collect() override;
  // Asks NVML at every Collect(); never true where there is no NVML.
  bool TakeDisturbance() override;
  void Keep() override;
  void Drop() override;
  // CUPTI's spans while it has measured every iteration, else the events'.
  const std::vector<double>& Spans(size_t contender) const override;

  // Why clocks were lower than they could be, since Create().
  ClockEvents clock_events() const { return clock_events_; }
  const Observations& observations(size_t contender) const { return observations_[contender]; }
  // Forgets what was observed so far.
  void Clear();

 private:
  struct Pending {
    uint64_t iteration = 0;
    size_t contender = 0;
    CUevent start = nullptr;
    CUevent stop = nullptr;
    bool traced = false;
  };

  GpuClock(const device::gpu::Driver& driver, Cupti& cupti, size_t contenders,
           const std::vector<std::string>& own_kernels, int64_t flush_bytes, device::Guard guard);
  Checked<void> Check(CUresult result) const;
  Checked<void> NewEvent(CUevent* event);
  Checked<void> Synchronize() const;
  std::map<uint64_t, Footprint> TakeFootprints();
  void LookAtClocks();

  const device::gpu::Driver* driver_;
  Cupti* cupti_;
  std::vector<std::string> kernels_;
  std::set<std::string> own_kernels_;
  int64_t flush_bytes_;
  device::Guard guard_;  // for the sentence about a fault
  std::vector<Observations> observations_;
  std::vector<Pending> pending_;
  std::vector<CUevent> free_events_;
  std::vector<CUevent> all_events_;
  bool tracing_ = false;
  std::vector<Observations> kept_;
  ClockEvents clock_events_;
  bool throttled_ = false;
};

}  // namespace cudaagent::measure
