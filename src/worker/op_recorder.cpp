#include "worker/op_recorder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <array>
#include <string_view>
#include <utility>

#include "device/tensor_info.h"

namespace cudaagent::worker {
namespace {

thread_local OpRecorder* current = nullptr;

bool OnlyAllocates(const std::string& op) {
  constexpr std::array<std::string_view, 8> kNames = {
      "aten::empty",   "aten::empty_like", "aten::empty_strided", "aten::new_empty",
      "aten::resize_", "aten::set_",       "aten::detach",        "aten::alias"};
  for (std::string_view name : kNames) {
    if (op == name) return true;
  }
  return false;
}

// Turns what libtorch shows of an operator into a node. `inputs` are the tensors it was given.
class NodeBuilder {
 public:
  NodeBuilder(RecordedOp* op, std::vector<at::Tensor>* inputs) : op_(op), inputs_(inputs) {}

  graph::Value Convert(const c10::IValue& value) {
    if (value.isTensor()) return Refer(value.toTensor());
    if (value.isBool()) return {value.toBool()};
    if (value.isInt()) return {value.toInt()};
    if (value.isDouble()) return {value.toDouble()};
    if (value.isString()) return {value.toStringRef()};
    if (value.isList()) {
      graph::ValueList list;
      for (const c10::IValue& element : value.toListRef()) list.push_back(Convert(element));
      return {std::move(list)};
    }
    return {};
  }

  void AddOutputs(const c10::IValue& value, bool* all_shared) {
    if (value.isTensor() && value.toTensor().defined()) {
      *all_shared = *all_shared && SharesMemory(value.toTensor());
      op_->node.outputs.push_back(device::DescribeTensor(
          "out" + std::to_string(op_->node.outputs.size()), value.toTensor()));
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) AddOutputs(tensor, all_shared);
    }
  }

 private:
  // Whether the tensor's memory is that of one the node reads.
  bool SharesMemory(const at::Tensor& tensor) const {
    for (const at::Tensor& seen : *inputs_) {
      if (tensor.has_storage() && seen.has_storage() &&
          tensor.storage().is_alias_of(seen.storage())) {
        return true;
      }
    }
    return false;
  }

  graph::Value Refer(const at::Tensor& tensor) {
    if (!tensor.defined()) return {};
    std::string name = "in" + std::to_string(inputs_->size());
    inputs_->push_back(tensor);
    op_->tensors[name] = device::DescribeTensor(name, tensor);
    return {graph::Ref{std::move(name)}};
  }

  RecordedOp* op_;
  std::vector<at::Tensor>* inputs_;
};

}  // namespace

OpRecorder::OpRecorder() {
  current = this;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&OnEnter, &OnLeave)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

OpRecorder::~OpRecorder() {
  at::removeCallback(handle_);
  current = nullptr;
}

std::unique_ptr<at::ObserverContext> OpRecorder::OnEnter(const at::RecordFunction& function) {
  if (current && current->depth_++ == 0) current->Begin(function);
  return nullptr;
}

void OpRecorder::OnLeave(const at::RecordFunction& function, at::ObserverContext*) {
  if (current && --current->depth_ == 0) current->End(function);
}

void OpRecorder::Begin(const at::RecordFunction& function) {
  current_op_ = {};
  current_inputs_.clear();
  const auto name = function.operator_name();
  if (!name) return;
  current_op_.node.name = "op" + std::to_string(ops_.size());
  current_op_.node.op = name->name;
  current_op_.node.overload = name->overload_name.empty() ? "default" : name->overload_name;
  NodeBuilder builder(&current_op_, &current_inputs_);
  for (const c10::IValue& input : function.inputs()) {
    current_op_.node.args.push_back(builder.Convert(input));
  }
}

void OpRecorder::End(const at::RecordFunction& function) {
  NodeBuilder builder(&current_op_, &current_inputs_);
  bool all_shared = true;
  for (const c10::IValue& output : function.outputs()) builder.AddOutputs(output, &all_shared);
  current_inputs_.clear();
  const graph::Node& node = current_op_.node;
  if (node.op.empty() || OnlyAllocates(node.op)) return;
  const bool is_view = all_shared && graph::MayAlias(node) && !graph::IsInPlace(node);
  if (!is_view) ops_.push_back(std::move(current_op_));
}

}  // namespace cudaagent::worker
