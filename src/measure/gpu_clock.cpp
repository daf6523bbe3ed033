#include "measure/gpu_clock.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <atomic>
#include <utility>

#include "device/gpu/diagnosis.h"

namespace cudaagent::measure {
namespace {

constexpr double kNsPerMs = 1e6;

CUstream CurrentStream() { return c10::cuda::getCurrentCUDAStream().stream(); }

// Device memory that nothing else uses. Kept for the life of the process, leaked at its end:
// torch's allocator may be gone before static objects are.
class CacheFlush {
 public:
  static CacheFlush& Get() {
    static CacheFlush* const leaked = new CacheFlush;
    return *leaked;
  }

  // Writes `bytes`, so that nothing of before is left in the cache, then reads as many others:
  // lines still to be written back would take bandwidth from whatever comes next.
  void Run(int64_t bytes) {
    const at::NoGradGuard no_grad;
    Reserve(bytes, &written_);
    if (Reserve(bytes, &read_)) read_.zero_();
    written_.fill_(1);
    at::sum_out(sum_, read_, {0}, /*keepdim=*/false);
  }

 private:
  // True where it is new.
  bool Reserve(int64_t bytes, at::Tensor* memory) {
    const at::Device device(at::kCUDA, c10::cuda::current_device());
    const int64_t elements = bytes / 8 + 1;
    if (memory->defined() && memory->numel() >= elements && memory->device() == device) {
      return false;
    }
    const auto options = at::TensorOptions().dtype(at::kLong).device(device);
    *memory = at::empty({elements}, options);
    if (!sum_.defined() || sum_.device() != device) sum_ = at::empty({}, options);
    return true;
  }

  at::Tensor written_, read_, sum_;
};

}  // namespace

GpuClock::GpuClock(const device::gpu::Driver& driver, Cupti& cupti, size_t contenders,
                   const std::vector<std::string>& own_kernels, int64_t flush_bytes,
                   device::Guard guard)
    : driver_(&driver),
      cupti_(&cupti),
      kernels_(own_kernels),
      own_kernels_(own_kernels.begin(), own_kernels.end()),
      flush_bytes_(flush_bytes),
      guard_(guard),
      observations_(contenders),
      kept_(contenders) {}

Checked<GpuClock> GpuClock::Create(const device::gpu::Driver& driver, Cupti& cupti,
                                   size_t contenders, const std::vector<std::string>& own_kernels,
                                   int64_t flush_bytes, device::Guard guard) {
  return GpuClock(driver, cupti, contenders, own_kernels, flush_bytes, guard);
}

GpuClock::GpuClock(GpuClock&& other) noexcept
    : driver_(other.driver_),
      cupti_(other.cupti_),
      kernels_(std::move(other.kernels_)),
      own_kernels_(std::move(other.own_kernels_)),
      flush_bytes_(other.flush_bytes_),
      guard_(other.guard_),
      observations_(std::move(other.observations_)),
      pending_(std::move(other.pending_)),
      free_events_(std::move(other.free_events_)),
      all_events_(std::exchange(other.all_events_, {})),
      tracing_(std::exchange(other.tracing_, false)),
      kept_(std::move(other.kept_)),
      clock_events_(other.clock_events_),
      throttled_(other.throttled_) {}

GpuClock::~GpuClock() {
  if (tracing_) cupti_->Stop();
  for (CUevent event : all_events_) driver_->cuEventDestroy(event);
}

bool GpuClock::Trace(bool on) {
  if (on == tracing_) return true;
  if (on) {
    tracing_ = cupti_->Start();
  } else {
    cupti_->Stop();
    tracing_ = false;
  }
  return tracing_ == on;
}

Checked<void> GpuClock::Check(CUresult result) const {
  if (result == CUDA_SUCCESS) return {};
  return tl::unexpected(device::gpu::Explain(result, kernels_, guard_));
}

Checked<void> GpuClock::Synchronize() const { return Check(driver_->cuCtxSynchronize()); }

Checked<void> GpuClock::NewEvent(CUevent* event) {
  if (free_events_.empty()) {
    CUevent created = nullptr;
    const CUresult result = driver_->cuEventCreate(&created, CU_EVENT_DEFAULT);
    if (result != CUDA_SUCCESS) return Check(result);
    all_events_.push_back(created);
    free_events_.push_back(created);
  }
  *event = free_events_.back();
  free_events_.pop_back();
  return {};
}

Checked<void> GpuClock::Begin(size_t contender) {
  // Before the flush, not after it: behind it the device would be idle, and a graph's first nodes
  // would run while the host still feeds the rest.
  if (auto done = Synchronize(); !done) return done;
  if (flush_bytes_ > 0) {
    // Lines a kernel asked to keep would survive the flush. Some devices keep none.
    const CUresult reset = driver_->cuCtxResetPersistingL2Cache();
    if (reset != CUDA_SUCCESS && reset != CUDA_ERROR_NOT_SUPPORTED) return Check(reset);
    CacheFlush::Get().Run(flush_bytes_);
  }
  Pending pending;
  // Never used twice, so that a record delivered late cannot be taken for another measurement's.
  static std::atomic<uint64_t> next_iteration{1};
  pending.iteration = next_iteration++;
  pending.contender = contender;
  pending.traced = tracing_;
  if (auto done = NewEvent(&pending.start); !done) return done;
  if (auto done = NewEvent(&pending.stop); !done) return done;
  pending_.push_back(pending);
  if (auto done = Check(driver_->cuEventRecord(pending.start, CurrentStream())); !done) return done;
  if (tracing_) cupti_->Push(pending.iteration);
  return {};
}

Checked<void> GpuClock::End(size_t) {
  if (tracing_) cupti_->Pop();
  return Check(driver_->cuEventRecord(pending_.back().stop, CurrentStream()));
}

std::map<uint64_t, Footprint> GpuClock::TakeFootprints() {
  ActivityLog log;
  cupti_->Flush(false, &log);
  auto footprints = Footprints(log, own_kernels_);
  for (const Pending& each : pending_) {
    const auto found = footprints.find(each.iteration);
    if (!each.traced || (found != footprints.end() && found->second.measured)) continue;
    cupti_->Flush(true, &log);
    return Footprints(log, own_kernels_);
  }
  return footprints;
}

void GpuClock::LookAtClocks() {
  const auto events = Nvml::Get().Events();
  if (!events) return;
  clock_events_.bits |= events->bits;
  throttled_ = throttled_ || events->throttled();
}

bool GpuClock::TakeDisturbance() { return std::exchange(throttled_, false); }

void GpuClock::Keep() { kept_ = observations_; }

void GpuClock::Drop() { observations_ = kept_; }

Checked<void> GpuClock::Collect() {
  // Before the device is idle: some reasons last no longer than the load.
  LookAtClocks();
  if (auto done = Synchronize(); !done) return done;
  std::map<uint64_t, Footprint> footprints;
  if (tracing_) footprints = TakeFootprints();
  for (const Pending& each : pending_) {
    float milliseconds = 0;
    const CUresult result = driver_->cuEventElapsedTime(&milliseconds, each.start, each.stop);
    if (result != CUDA_SUCCESS) return Check(result);
    Observations& seen = observations_[each.contender];
    seen.event_ns.push_back(milliseconds * kNsPerMs);
    const auto found = footprints.find(each.iteration);
    if (found != footprints.end() && found->second.measured) {
      seen.span_ns.push_back(found->second.span_ns);
      seen.footprints.push_back(found->second);
    }
    free_events_.push_back(each.start);
    free_events_.push_back(each.stop);
  }
  pending_.clear();
  return {};
}

const std::vector<double>& GpuClock::Spans(size_t contender) const {
  const Observations& seen = observations_[contender];
  return seen.span_ns.size() == seen.event_ns.size() ? seen.span_ns : seen.event_ns;
}

void GpuClock::Clear() {
  for (Observations& each : observations_) each = {};
  kept_ = observations_;
  throttled_ = false;
}

}  // namespace cudaagent::measure
