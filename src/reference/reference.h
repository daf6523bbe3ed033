// The reference: the user's model.py in an embedded CPython, its tensors as at::Tensor.
// One interpreter per process; call from one thread. Python errors become messages with the user's
// file and line.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudaagent/problem.h"
#include "cudaagent/result.h"

namespace cudaagent::reference {

// Starts CPython and imports torch. kEnvironment where Python or torch is not the one built for.
// A Python other than that one, named by the environment variable CUDAAGENT_PYTHON, must be its
// twin. Later calls do nothing. model.py's output goes to stderr.
Result<void> StartPython();
// Imports what the first LoadReference would import (torch.export, dynamo: seconds). Optional;
// opens no CUDA context.
Result<void> WarmUp();
std::string TorchVersion();

class Reference {
 public:
  virtual ~Reference() = default;

  virtual const ProblemInfo& info() const = 0;
  // Model.forward's arguments from get_inputs(), made on the device after seeding every generator;
  // floating tensors cast to the problem's dtype. Tensors and scalars, in order.
  virtual Result<std::vector<c10::IValue>> MakeInputs(uint64_t seed) = 0;
  // Eager forward without gradients in the problem's mode. `precision` is set before and restored
  // after. In train mode it begins with RestoreStatistics().
  virtual Result<std::vector<at::Tensor>> Forward(const std::vector<c10::IValue>& inputs,
                                                  Precision precision) = 0;
  // torch.compile'd forward; `mode` as torch.compile names it ("default", "max-autotune"). The
  // first call of a mode compiles and may take minutes. Outputs may be overwritten by the next
  // call.
  virtual Result<std::vector<at::Tensor>> ForwardCompiled(const std::string& mode,
                                                          const std::vector<c10::IValue>& inputs,
                                                          Precision precision) = 0;
  // Eager forward of the same model and weights in float64, inputs widened: the yardstick of the
  // strict tier. An Error where the model insists on a type of its own, or memory is short.
  virtual Result<std::vector<at::Tensor>> ForwardDouble(const std::vector<c10::IValue>& inputs) = 0;
  // Draws every parameter and running statistic anew, none at a layer's default (weights scaled by
  // their fan-in, norm weights and variances in [0.5, 1.5], biases and means N(0, 0.1)); the
  // tensors of parameters() are written in place. RestoreParameters() brings the originals back.
  virtual Result<void> RedrawParameters(uint64_t seed) = 0;
  virtual Result<void> RestoreParameters() = 0;
  // Train mode: a forward leaves the buffers of info().statistics changed; this brings back the
  // values they had at loading, or from RedrawParameters(). Does nothing where no forward ran since
  // the last time. Call it before reading parameters(), and before a forward whose time counts.
  virtual Result<void> RestoreStatistics() = 0;
  // state_dict tensors (the model's own: writing into them changes it) and lifted constants
  // (copies) by plan name, on the device.
  virtual const std::map<std::string, at::Tensor>& parameters() const = 0;
};

// Executes model.py, builds the model on `torch_device` ("cuda:0" or "cpu"), exports its graph.
// kUsage: the user's file is at fault. kEnvironment: it does not fit in memory.
Result<std::unique_ptr<Reference>> LoadReference(const ProblemSpec& spec,
                                                 const std::string& torch_device);

}  // namespace cudaagent::reference
