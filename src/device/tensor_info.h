// Tensors in the plan's words.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <string_view>

#include "cudaagent/problem.h"

namespace cudaagent::device {

// "float32" and its like; nullopt = no such type.
std::optional<at::ScalarType> ScalarTypeFromName(std::string_view name);
std::string ScalarTypeName(at::ScalarType type);

TensorInfo DescribeTensor(const std::string& name, const at::Tensor& tensor);

// "float32 [64, 1024] with strides [1024, 1]".
std::string Spell(const at::Tensor& tensor);
std::string Spell(const TensorInfo& info);

// True where both are defined, on one storage. Views of one tensor share it.
bool ShareStorage(const at::Tensor& a, const at::Tensor& b);

}  // namespace cudaagent::device
