// The problem: a user's model.py (KernelBench's contract), and what the worker learned of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cudaagent {

// What both sides of a comparison may use for float32 matrix products and convolutions.
enum class Precision {
  kFp32,          // TF32 off everywhere
  kTf32,          // TF32 on for matmul, cuDNN convolutions and RNNs, on both sides (default)
  kTorchDefault,  // matmul fp32, cuDNN TF32: PyTorch's own defaults
};

// Which mode the model runs in: model.eval(), or model.train() as KernelBench's evaluator does.
enum class Mode { kEval, kTrain };

// What the user asked for. Equal specs mean the same problem.
struct ProblemSpec {
  std::string path;    // absolute path of model.py
  std::string source;  // its text, as read by the driver
  std::string class_name = "Model";
  std::map<std::string, std::string> consts;  // NAME -> Python literal, overrides module constants
  std::string dtype = "float32";  // floating tensors alone are cast: float32|float16|bfloat16
  Precision precision = Precision::kTf32;
  std::string inputs_fn = "get_inputs";  // makes forward's arguments: a list, or a dict by name
  Mode mode = Mode::kEval;
};

// Shape in elements, strides in elements; dtype as torch spells it without "torch." ("float32").
struct TensorInfo {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::string dtype;
  int64_t bytes = 0;
  bool contiguous = true;

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t extent : shape) n *= extent;
    return n;
  }
};

// A non-tensor argument of Model.forward, as a JSON scalar ("3.14", "true", "null").
struct ScalarInput {
  std::string name;
  std::string value;
};

// What loading the problem on a device revealed. `graph_json` is the exported ATen graph
// (format: src/graph/graph.h), empty with `export_error` set where torch.export failed.
struct ProblemInfo {
  std::string hash;                // of source, class, consts, dtype, mode
  std::vector<TensorInfo> inputs;  // in the order of Model.forward
  std::vector<ScalarInput> scalars;
  std::vector<TensorInfo> parameters;  // state_dict names: parameters and buffers
  // Of `parameters`, the buffers that forward itself updates (running statistics). Train mode
  // alone. They have their first values before every run, and a candidate may write into its
  // copies.
  std::vector<std::string> statistics;
  std::vector<TensorInfo> constants;  // const0, const1, ...: tensors lifted out of forward
  std::vector<TensorInfo> outputs;    // out0, out1, ...
  std::string graph_json;
  std::string export_error;
};

}  // namespace cudaagent
