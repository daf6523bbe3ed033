// The ATen operators that libtorch calls while it lives, as nodes of a graph: what the plan's op
// steps did, with the shapes they met.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "graph/graph.h"

namespace cudaagent::worker {

struct RecordedOp {
  graph::Node node;
  std::map<std::string, TensorInfo> tensors;  // what the node's references name
};

// Records outermost operators of the constructing thread, one recorder at a time. Views and mere
// allocations are left out: they move no data.
class OpRecorder {
 public:
  OpRecorder();
  ~OpRecorder();
  OpRecorder(const OpRecorder&) = delete;
  OpRecorder& operator=(const OpRecorder&) = delete;

  const std::vector<RecordedOp>& ops() const { return ops_; }

 private:
  static std::unique_ptr<at::ObserverContext> OnEnter(const at::RecordFunction& function);
  static void OnLeave(const at::RecordFunction& function, at::ObserverContext* context);
  void Begin(const at::RecordFunction& function);
  void End(const at::RecordFunction& function);

  at::CallbackHandle handle_;
  int depth_ = 0;
  // Of the outermost operator at work: libtorch shows arguments on entering, results on leaving.
  RecordedOp current_op_;
  std::vector<at::Tensor> current_inputs_;
  std::vector<RecordedOp> ops_;
};

}  // namespace cudaagent::worker
