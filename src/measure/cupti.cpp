#include "measure/cupti.h"

#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <utility>

namespace cudaagent::measure {
namespace {

constexpr const char* kLibrary = "libcupti.so.13";
constexpr size_t kBufferBytes = 1 << 20;
constexpr size_t kBufferAlignment = 8;  // CUPTI's requirement

#define CUDAAGENT_CUPTI_FUNCTIONS(X)        \
  X(cuptiGetVersion)                        \
  X(cuptiGetResultString)                   \
  X(cuptiActivityRegisterCallbacks)         \
  X(cuptiActivityEnable)                    \
  X(cuptiActivityDisable)                   \
  X(cuptiActivityGetNextRecord)             \
  X(cuptiActivityFlushAll)                  \
  X(cuptiActivityPushExternalCorrelationId) \
  X(cuptiActivityPopExternalCorrelationId)

struct Functions {
#define CUDAAGENT_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  CUDAAGENT_CUPTI_FUNCTIONS(CUDAAGENT_CUPTI_MEMBER)
#undef CUDAAGENT_CUPTI_MEMBER
};

// Shared with CUPTI's own thread, which calls back.
struct State {
  Functions call;
  std::mutex mutex;
  ActivityLog log;
  bool collecting = false;
};

State& state() {
  static State* const leaked = new State;
  return *leaked;
}

// Kinds switched on for a measurement. GRAPH_TRACE is on from the start. API kinds carry the
// external correlation.
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
};

template <typename Record>
Activity Read(const CUpti_Activity* record, Activity::Kind kind) {
  const auto* typed = reinterpret_cast<const Record*>(record);
  Activity activity;
  activity.kind = kind;
  activity.correlation = typed->correlationId;
  activity.start = typed->start;
  activity.end = typed->end;
  return activity;
}

void Take(const CUpti_Activity* record, ActivityLog* log) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      Activity kernel = Read<CUpti_ActivityKernel10>(record, Activity::Kind::kKernel);
      const char* name = reinterpret_cast<const CUpti_ActivityKernel10*>(record)->name;
      if (name != nullptr) kernel.name = name;
      log->activities.push_back(std::move(kernel));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      log->activities.push_back(Read<CUpti_ActivityMemcpy6>(record, Activity::Kind::kCopy));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      log->activities.push_back(Read<CUpti_ActivityMemset4>(record, Activity::Kind::kFill));
      break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      log->activities.push_back(Read<CUpti_ActivityGraphTrace2>(record, Activity::Kind::kGraph));
      break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto* external = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      if (external->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
        log->iteration[external->correlationId] = external->externalId;
      }
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  if (buffer == nullptr) return;
  State& shared = state();
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    CUpti_Activity* record = nullptr;
    while (shared.collecting && valid_bytes > 0 &&
           shared.call.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      Take(record, &shared.log);
    }
  }
  std::free(buffer);
}

std::string ResultText(int result) {
  const char* text = nullptr;
  const auto get = state().call.cuptiGetResultString;
  if (get != nullptr) get(static_cast<CUptiResult>(result), &text);
  return (text != nullptr ? std::string(text) : std::string("unknown result")) + ", error " +
         std::to_string(result);
}

}  // namespace

Cupti& Cupti::Get() {
  static Cupti* const leaked = new Cupti;
  return *leaked;
}

void Cupti::Refuse(const std::string& call, int result) {
  usable_ = false;
  status_ = "CUPTI refused " + call + " (" + ResultText(result) +
            "); another profiler may have it. CUDA events decide.";
}

std::string Cupti::TryInit() {
  // torch has linked it: a second copy would fight the first over the driver's hooks.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return std::string(kLibrary) + " could not be loaded. CUDA events decide.";
  }
  Functions& call = state().call;
#define CUDAAGENT_CUPTI_TAKE(name)                                        \
  call.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (call.name == nullptr) return "CUPTI has no " #name ". CUDA events decide.";
  CUDAAGENT_CUPTI_FUNCTIONS(CUDAAGENT_CUPTI_TAKE)
#undef CUDAAGENT_CUPTI_TAKE
  uint32_t version = 0;
  if (call.cuptiGetVersion(&version) != CUPTI_SUCCESS || version != CUPTI_API_VERSION) {
    return "CUPTI reports API version " + std::to_string(version) +
           ", this program was built for " + std::to_string(CUPTI_API_VERSION) +
           " and cannot read its records. CUDA events decide.";
  }
  CUptiResult result = call.cuptiActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted);
  if (result != CUPTI_SUCCESS) {
    Refuse("the registration of callbacks", result);
    return status_;
  }
  result = call.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (result != CUPTI_SUCCESS) {
    Refuse("graph tracing", result);
    return status_;
  }
  return "";
}

void Cupti::Init() {
  if (std::exchange(initialised_, true)) return;
  const std::string problem = TryInit();
  usable_ = problem.empty();
  status_ = usable_ ? std::to_string(CUPTI_API_VERSION / 10000) + "." +
                          std::to_string(CUPTI_API_VERSION / 100 % 100)
                    : problem;
}

bool Cupti::Start() {
  if (!usable_) return false;
  State& shared = state();
  ActivityLog dropped;
  Flush(false, &dropped);  // graph launches since the last measurement
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    const CUptiResult result = shared.call.cuptiActivityEnable(kKinds[i]);
    if (result == CUPTI_SUCCESS) continue;
    for (size_t j = 0; j < i; ++j) shared.call.cuptiActivityDisable(kKinds[j]);
    Refuse("an activity kind", result);
    return false;
  }
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.log = {};
  shared.collecting = true;
  return true;
}

void Cupti::Stop() {
  State& shared = state();
  for (const CUpti_ActivityKind kind : kKinds) shared.call.cuptiActivityDisable(kind);
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.collecting = false;
}

void Cupti::Push(uint64_t iteration) {
  state().call.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                      iteration);
}

void Cupti::Pop() {
  uint64_t last = 0;
  state().call.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                     &last);
}

void Cupti::Flush(bool forced, ActivityLog* log) {
  State& shared = state();
  // The callbacks run inside this call or on CUPTI's thread: the lock must not be held here.
  shared.call.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  const std::lock_guard<std::mutex> lock(shared.mutex);
  auto& activities = shared.log.activities;
  log->activities.insert(log->activities.end(), std::make_move_iterator(activities.begin()),
                         std::make_move_iterator(activities.end()));
  log->iteration.merge(shared.log.iteration);
  shared.log = {};
}

}  // namespace cudaagent::measure
