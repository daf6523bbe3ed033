// CUDA graphs through torch, whose allocator must know that a capture is under way.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "cudaagent/fault.h"

namespace cudaagent::device::gpu {

// The device torch is set to on this thread.
at::Device TorchDevice();

// Makes one stream of torch's pool, always the same, the current one for a scope: captures cannot
// be made on the default stream, and every new stream would grow its own caches and workspaces.
class SideStream {
 public:
  SideStream();
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Gives the memory that torch's allocator keeps for later back to the device; not while capturing.
void EmptyCache();

class Graph {
 public:
  // Captures what `run` enqueues on the current stream, which must not be the default one, into a
  // memory pool of its own. nullptr with the reason in `note` where that cannot be done; the stream
  // and torch's allocator are then as they were before.
  static std::unique_ptr<Graph> Capture(const std::function<Checked<void>()>& run,
                                        std::string* note);
  ~Graph();  // no launch may be pending
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Enqueues one replay on the current stream. Throws c10::Error.
  void Launch();

 private:
  struct State;
  explicit Graph(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cudaagent::device::gpu
