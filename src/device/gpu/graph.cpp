#include "device/gpu/graph.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <optional>
#include <utility>

#include "device/op_call.h"

namespace cudaagent::device::gpu {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// torch's graph, which tells no one whether its capture ended well.
class TorchGraph : public at::cuda::CUDAGraph {
 public:
  bool owns_pool() const { return capture_ended_; }
};

// Cleaning up after a failed capture: each call may find that torch has done it already.
template <typename F>
void Quietly(F&& call) {
  try {
    call();
  } catch (const std::exception&) {
  }
}

// A capture marks the state of the default random generator as capturing, and only one that ends
// well clears the mark; random numbers could then be drawn no more. So captures get a copy of the
// state.
class GeneratorForCapture {
 public:
  explicit GeneratorForCapture(c10::DeviceIndex device)
      : generator_(at::cuda::detail::getDefaultCUDAGenerator(device)),
        original_(impl()->graphsafe_get_state()) {
    impl()->graphsafe_set_state(impl()->clone()->graphsafe_get_state());
  }
  ~GeneratorForCapture() {
    Quietly([this] { impl()->graphsafe_set_state(original_); });
  }
  GeneratorForCapture(const GeneratorForCapture&) = delete;
  GeneratorForCapture& operator=(const GeneratorForCapture&) = delete;

 private:
  at::CUDAGeneratorImpl* impl() { return generator_.get<at::CUDAGeneratorImpl>(); }

  at::Generator generator_;
  c10::intrusive_ptr<c10::GeneratorImpl> original_;
};

}  // namespace

at::Device TorchDevice() { return {at::kCUDA, c10::cuda::current_device()}; }

struct SideStream::State {
  c10::cuda::CUDAStream previous;
};

SideStream::SideStream() {
  static std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;
  const c10::DeviceIndex device = c10::cuda::current_device();
  auto stream = streams.find(device);
  if (stream == streams.end()) {
    stream = streams.emplace(device, c10::cuda::getStreamFromPool(false, device)).first;
  }
  state_ = std::make_unique<State>(State{c10::cuda::getCurrentCUDAStream(device)});
  c10::cuda::setCurrentCUDAStream(stream->second);
}

SideStream::~SideStream() { c10::cuda::setCurrentCUDAStream(state_->previous); }

struct Graph::State {
  std::optional<TorchGraph> graph;
  c10::DeviceIndex device = 0;
  c10::MempoolId_t pool;

  ~State() {
    Quietly([&] { graph.reset(); });
    // The pool's memory would otherwise stay reserved until some allocation fails.
    Quietly([&] { allocator::emptyCache(pool); });
  }
};

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::~Graph() = default;

std::unique_ptr<Graph> Graph::Capture(const std::function<Checked<void>()>& run,
                                      std::string* note) {
  auto state = std::make_unique<State>();
  state->device = c10::cuda::current_device();
  state->pool = at::cuda::graph_pool_handle();
  state->graph.emplace();
  TorchGraph& graph = *state->graph;
  const GeneratorForCapture generator(state->device);
  bool failed = false;
  const auto fail = [&](std::string reason) {
    if (!std::exchange(failed, true)) *note = std::move(reason);
  };
  bool begun = false;
  try {
    graph.capture_begin(state->pool, cudaStreamCaptureModeThreadLocal);
    begun = true;
    if (auto done = run(); !done) {
      fail("the plan cannot be captured as a graph: " + done.error().message);
    }
  } catch (...) {
    fail(CurrentExceptionAsFault("the plan cannot be captured as a graph", Verdict::kInfraError)
             .message);
  }
  if (begun) {
    try {
      graph.capture_end();
    } catch (...) {
      fail(CurrentExceptionAsFault("the capture could not be ended", Verdict::kInfraError).message);
    }
  }
  if (!failed) return std::unique_ptr<Graph>(new Graph(std::move(state)));
  // Where capture_end() throws, torch leaves both allocators routing to a pool whose filter refers
  // to this graph: end that before the graph goes.
  auto* host = at::getHostAllocator(at::kCUDA);
  Quietly([&] { allocator::get()->endAllocateToPool(state->device, state->pool); });
  Quietly([&] { host->end_allocate_to_pool(state->pool); });
  if (!graph.owns_pool()) {
    Quietly([&] { allocator::get()->releasePool(state->device, state->pool); });
    Quietly([&] { host->release_pool(state->pool); });
  }
  return nullptr;
}

void EmptyCache() { allocator::emptyCache(); }

void Graph::Launch() { state_->graph->replay(); }

}  // namespace cudaagent::device::gpu
