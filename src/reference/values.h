// Tensors and plain values between Python objects and ATen. Call under WithPython. Tensors are
// shared, never copied. A Result's error is kInternal: Python's side has checked types already.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <vector>

#include "cudaagent/result.h"
#include "reference/python.h"

namespace cudaagent::reference {

Result<Object> ToTuple(const std::vector<c10::IValue>& values);
Result<std::vector<c10::IValue>> ToValues(PyObject* tuple);
Result<std::vector<at::Tensor>> ToTensors(PyObject* tuple);
Result<std::map<std::string, at::Tensor>> ToTensorMap(PyObject* dict);

}  // namespace cudaagent::reference
