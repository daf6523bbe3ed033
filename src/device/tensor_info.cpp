#include "device/tensor_info.h"

#include <ATen/ATen.h>

#include <utility>

namespace cudaagent::device {
namespace {

constexpr std::pair<std::string_view, at::ScalarType> kTypes[] = {
    {"float32", at::kFloat},
    {"float16", at::kHalf},
    {"bfloat16", at::kBFloat16},
    {"float64", at::kDouble},
    {"int64", at::kLong},
    {"int32", at::kInt},
    {"int16", at::kShort},
    {"int8", at::kChar},
    {"uint8", at::kByte},
    {"bool", at::kBool},
    {"uint16", at::kUInt16},
    {"uint32", at::kUInt32},
    {"uint64", at::kUInt64},
    {"complex64", at::kComplexFloat},
    {"complex128", at::kComplexDouble},
    {"float8_e4m3fn", at::kFloat8_e4m3fn},
    {"float8_e5m2", at::kFloat8_e5m2},
};

std::string SpellAs(std::string_view dtype, at::IntArrayRef shape, at::IntArrayRef strides) {
  return c10::str(dtype, " ", shape, " with strides ", strides);
}

}  // namespace

std::optional<at::ScalarType> ScalarTypeFromName(std::string_view name) {
  for (const auto& [text, type] : kTypes) {
    if (text == name) return type;
  }
  return std::nullopt;
}

std::string ScalarTypeName(at::ScalarType type) {
  for (const auto& [text, value] : kTypes) {
    if (value == type) return std::string(text);
  }
  return c10::toString(type);
}

TensorInfo DescribeTensor(const std::string& name, const at::Tensor& tensor) {
  TensorInfo info;
  info.name = name;
  info.shape = tensor.sizes().vec();
  info.strides = tensor.strides().vec();
  info.dtype = ScalarTypeName(tensor.scalar_type());
  info.bytes = tensor.numel() * static_cast<int64_t>(tensor.element_size());
  info.contiguous = tensor.is_contiguous();
  return info;
}

std::string Spell(const at::Tensor& tensor) {
  return SpellAs(ScalarTypeName(tensor.scalar_type()), tensor.sizes(), tensor.strides());
}

std::string Spell(const TensorInfo& info) { return SpellAs(info.dtype, info.shape, info.strides); }

bool ShareStorage(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.has_storage() && b.has_storage() &&
         a.storage().data() != nullptr && a.storage().data() == b.storage().data();
}

}  // namespace cudaagent::device
