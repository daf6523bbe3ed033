#include "measure/measure.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "device/gpu/diagnosis.h"
#include "device/gpu/driver.h"
#include "measure/choose.h"
#include "measure/cupti.h"
#include "measure/gpu_clock.h"
#include "measure/interleave.h"
#include "measure/nvml.h"

namespace cudaagent::measure {
namespace {

using std::chrono::steady_clock;

// Rounds of the pass that counts single activities of graphs.
constexpr int kStepRounds = 3;

Checked<int64_t> L2Bytes(const device::gpu::Driver& driver) {
  CUdevice device = 0;
  int bytes = 0;
  CUresult result = driver.cuDeviceGet(&device, c10::cuda::current_device());
  if (result == CUDA_SUCCESS) {
    result = driver.cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
  }
  if (result == CUDA_SUCCESS) return bytes;
  return Blame(Verdict::kInfraError, "The size of the L2 cache is not to be had: " +
                                         device::gpu::ErrorName(result) + ".");
}

class Measurement {
 public:
  Measurement(const std::vector<Contender>& contenders, const EvalOptions& options, GpuClock& clock)
      : contenders_(contenders),
        options_(options),
        clock_(clock),
        deadline_(steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                            std::chrono::duration<double>(options.time_limit_s))) {}

  Checked<std::vector<Samples>> Run() {
    if (auto done = RunRounds(contenders_, kWarmups, &clock_); !done) {
      return tl::unexpected(done.error());
    }
    std::vector<double> untraced;  // the quickest warm-up by events
    for (size_t i = 0; i < contenders_.size(); ++i) {
      const auto& events = clock_.observations(i).event_ns;
      untraced.push_back(*std::min_element(events.begin(), events.end()));
    }
    clock_.Clear();
    if (options_.clock != "events") clock_.Trace(true);
    if (auto done = Loop(); !done) return tl::unexpected(done.error());
    std::vector<Observations> traced;
    for (size_t i = 0; i < contenders_.size(); ++i) traced.push_back(clock_.observations(i));
    std::vector<Observations> steps(contenders_.size());
    if (auto done = CountSteps(&steps); !done) return tl::unexpected(done.error());
    clock_.Trace(false);
    std::vector<Observations> plain(contenders_.size());
    if (auto done = RepeatUntraced(untraced, traced, &plain); !done) {
      return tl::unexpected(done.error());
    }
    std::vector<Samples> samples;
    for (size_t i = 0; i < contenders_.size(); ++i) {
      samples.push_back(
          Choose(contenders_[i].graph, traced[i], plain[i], steps[i], CuptiProblem()));
    }
    return samples;
  }

  std::optional<GpuCondition> Condition() const {
    Nvml& nvml = Nvml::Get();
    if (!nvml.usable()) return std::nullopt;
    GpuCondition condition;
    condition.sm_mhz = nvml.SmMegahertz().value_or(0);
    condition.memory_mhz = nvml.MemoryMegahertz().value_or(0);
    condition.celsius = nvml.Celsius().value_or(0);
    condition.slowdowns = clock_.clock_events().Words();
    condition.dropped_blocks = report_.dropped_blocks;
    condition.disturbed = report_.disturbed;
    return condition;
  }

 private:
  Checked<void> Loop() {
    clock_.Clear();
    auto report = RunUntilNarrow(contenders_, options_, deadline_, &clock_);
    if (!report) return tl::unexpected(report.error());
    report_.dropped_blocks += report->dropped_blocks;
    report_.disturbed = report_.disturbed || report->disturbed;
    return {};
  }

  std::string CuptiProblem() const {
    if (options_.clock == "events") return "CUDA events were asked for";
    return Cupti::Get().usable() ? "" : CuptiStatus();
  }

  // What a graph hides: its work again, step by step.
  Checked<void> CountSteps(std::vector<Observations>* steps) {
    if (!clock_.tracing()) return {};
    for (size_t i = 0; i < contenders_.size(); ++i) {
      if (!contenders_[i].graph || !contenders_[i].steps) continue;
      Contender stepwise = contenders_[i];
      stepwise.run = contenders_[i].steps;
      clock_.Clear();
      if (auto done = RunRounds({stepwise}, kStepRounds, &clock_); !done) return done;
      (*steps)[i] = clock_.observations(0);
    }
    return {};
  }

  // Tracing makes each launch dearer on the host. Where that shows in a contender's span, its
  // iterations are repeated without tracing, all contenders by turns as before.
  Checked<void> RepeatUntraced(const std::vector<double>& untraced,
                               const std::vector<Observations>& traced,
                               std::vector<Observations>* plain) {
    bool slowed = false;
    for (size_t i = 0; i < contenders_.size(); ++i) {
      slowed = slowed || (!contenders_[i].graph && SlowedByTracing(untraced[i], traced[i]));
    }
    if (!slowed) return {};
    if (auto done = Loop(); !done) return done;
    for (size_t i = 0; i < contenders_.size(); ++i) (*plain)[i] = clock_.observations(i);
    return {};
  }

  const std::vector<Contender>& contenders_;
  const EvalOptions& options_;
  GpuClock& clock_;
  RunReport report_;
  const steady_clock::time_point deadline_;
};

}  // namespace

void InitTiming() { Cupti::Get().Init(); }

std::string CuptiStatus() { return Cupti::Get().status(); }

Checked<std::vector<Samples>> MeasureInterleaved(const std::vector<Contender>& contenders,
                                                 const std::vector<std::string>& own_kernels,
                                                 const EvalOptions& options,
                                                 std::optional<GpuCondition>* condition) {
  auto driver = device::gpu::LoadDriver();
  if (!driver) return Blame(Verdict::kInfraError, driver.error().message);
  try {
    auto l2 = L2Bytes(**driver);
    if (!l2) return tl::unexpected(l2.error());
    auto clock = GpuClock::Create(**driver, Cupti::Get(), contenders.size(), own_kernels,
                                  options.warm_l2 ? 0 : 2 * *l2, device::GuardNamed(options.guard));
    if (!clock) return tl::unexpected(clock.error());
    Measurement measurement(contenders, options, *clock);
    auto samples = measurement.Run();
    if (condition != nullptr) *condition = measurement.Condition();
    return samples;
  } catch (const c10::OutOfMemoryError&) {
    return Blame(Verdict::kOutOfMemory, "The device's memory ran out while timing.");
  } catch (const c10::Error& error) {
    return Blame(Verdict::kInfraError,
                 std::string("Timing failed: ") + error.what_without_backtrace());
  }
}

Checked<std::optional<double>> MillijoulesPerRun(const Contender& contender, double seconds) {
  Nvml& nvml = Nvml::Get();
  if (!nvml.Millijoules()) return std::nullopt;
  auto driver = device::gpu::LoadDriver();
  if (!driver) return Blame(Verdict::kInfraError, driver.error().message);
  const auto synchronise = [&]() -> Checked<void> {
    const CUresult result = (*driver)->cuCtxSynchronize();
    if (result == CUDA_SUCCESS) return {};
    return tl::unexpected(device::gpu::Explain(result, {}));
  };
  // Long enough for a queue that never runs dry, short enough to end in time.
  constexpr double kBurstSeconds = 0.02;
  if (contender.prepare) {
    if (auto done = contender.prepare(); !done) return tl::unexpected(done.error());
  }
  if (auto done = synchronise(); !done) return tl::unexpected(done.error());
  int64_t runs = 0, burst = 1;
  const auto before = nvml.Millijoules();
  const auto begun = steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(steady_clock::now() - begun).count();
  };
  while (elapsed() < seconds) {
    const double burst_begun = elapsed();
    for (int64_t i = 0; i < burst; ++i, ++runs) {
      if (auto done = contender.run(); !done) return tl::unexpected(done.error());
    }
    if (auto done = synchronise(); !done) return tl::unexpected(done.error());
    if (elapsed() - burst_begun < kBurstSeconds) burst *= 2;
  }
  const auto after = nvml.Millijoules();
  if (!before || !after || *after <= *before) return std::nullopt;
  return static_cast<double>(*after - *before) / static_cast<double>(runs);
}

}  // namespace cudaagent::measure
