#include "device/op_values.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>

#include <utility>
#include <vector>

#include "device/tensor_info.h"

namespace cudaagent::device {
namespace {

using c10::IValue;
using c10::TypeKind;
using candidate::Expr;
using candidate::OpList;
using candidate::OpValue;
using candidate::TensorRef;

struct Place {
  const std::string& where;
  const c10::Argument& argument;
  OpScope& scope;
};

std::string Describe(const OpValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return c10::str("the integer ", i); }
    std::string operator()(double d) const { return c10::str("the number ", d); }
    std::string operator()(const std::string& s) const {
      return c10::str("the string \"", s, "\"");
    }
    std::string operator()(const TensorRef& ref) const { return "\"$" + ref.name + "\""; }
    std::string operator()(const Expr& expr) const { return "the expression " + expr.text(); }
    std::string operator()(const OpList& list) const {
      return c10::str("a list of ", list.size(), list.size() == 1 ? " value" : " values");
    }
  };
  return std::visit(Visitor{}, value.value);
}

tl::unexpected<Fault> Refuse(const Place& place, const std::string& what) {
  return Blame(Verdict::kBadCandidate,
               c10::str(place.where, " (", place.argument.name(), "): ", what, "."));
}

tl::unexpected<Fault> Mismatch(const Place& place, const std::string& wanted,
                               const OpValue& value) {
  return Refuse(place, c10::str("expected ", wanted, ", found ", Describe(value)));
}

// Expressions evaluated and scalar inputs looked up, so that only plain values and tensors remain.
Checked<IValue> Plain(const OpValue& value, const Place& place) {
  if (const auto* b = std::get_if<bool>(&value.value)) return IValue(*b);
  if (const auto* i = std::get_if<int64_t>(&value.value)) return IValue(*i);
  if (const auto* d = std::get_if<double>(&value.value)) return IValue(*d);
  if (const auto* s = std::get_if<std::string>(&value.value)) return IValue(*s);
  if (const auto* ref = std::get_if<TensorRef>(&value.value)) {
    auto found = place.scope.Find(ref->name);
    if (!found) return Blame(found.error().verdict, place.where + ": " + found.error().message);
    return found;
  }
  if (const auto* expr = std::get_if<Expr>(&value.value)) {
    auto result = expr->Evaluate(place.scope.values());
    if (!result) return Blame(result.error().verdict, place.where + ": " + result.error().message);
    return IValue(*result);
  }
  return IValue();
}

Checked<IValue> Convert(const OpValue& value, const c10::Type& type, const Place& place);

Checked<IValue> ToTensor(const OpValue& value, const Place& place) {
  auto plain = Plain(value, place);
  if (!plain) return plain;
  if (plain->isTensor()) return plain;
  if (plain->isScalar() && !std::holds_alternative<OpList>(value.value)) {
    at::Tensor wrapped = c10::scalar_to_tensor(plain->toScalar());
    wrapped.unsafeGetTensorImpl()->set_wrapped_number(true);
    return IValue(wrapped);
  }
  return Mismatch(place, "a tensor such as \"$x\" or a number", value);
}

Checked<IValue> ToInt(const OpValue& value, const Place& place) {
  auto plain = Plain(value, place);
  if (!plain || plain->isInt()) return plain;
  return Mismatch(place, "an integer", value);
}

Checked<IValue> ToFloat(const OpValue& value, const Place& place) {
  auto plain = Plain(value, place);
  if (!plain || plain->isDouble()) return plain;
  if (plain->isInt()) return IValue(static_cast<double>(plain->toInt()));
  return Mismatch(place, "a number", value);
}

Checked<IValue> ToNumber(const OpValue& value, const Place& place) {
  auto plain = Plain(value, place);
  if (!plain || plain->isInt() || plain->isDouble() || plain->isBool()) return plain;
  return Mismatch(place, "a number", value);
}

Checked<IValue> ToBool(const OpValue& value, const Place& place) {
  auto plain = Plain(value, place);
  if (!plain || plain->isBool()) return plain;
  return Mismatch(place, "true or false", value);
}

Checked<IValue> ToDtype(const OpValue& value, const Place& place) {
  if (const auto* text = std::get_if<std::string>(&value.value)) {
    if (auto type = ScalarTypeFromName(*text)) return IValue(*type);
  }
  return Mismatch(place, "a dtype such as \"float32\"", value);
}

Checked<IValue> ToLayout(const OpValue& value, const Place& place) {
  const auto* text = std::get_if<std::string>(&value.value);
  if (text != nullptr && *text == "strided") return IValue(at::kStrided);
  return Mismatch(place, "the layout \"strided\"", value);
}

Checked<IValue> ToMemoryFormat(const OpValue& value, const Place& place) {
  if (const auto* text = std::get_if<std::string>(&value.value)) {
    if (*text == "contiguous_format") return IValue(at::MemoryFormat::Contiguous);
    if (*text == "preserve_format") return IValue(at::MemoryFormat::Preserve);
    if (*text == "channels_last") return IValue(at::MemoryFormat::ChannelsLast);
    if (*text == "channels_last_3d") return IValue(at::MemoryFormat::ChannelsLast3d);
  }
  return Mismatch(place,
                  "\"contiguous_format\", \"preserve_format\", \"channels_last\" or "
                  "\"channels_last_3d\"",
                  value);
}

// Only the run's own device may be named: a plan must not reach another one.
Checked<IValue> ToDevice(const OpValue& value, const Place& place) {
  const at::Device own = place.scope.device();
  const auto* text = std::get_if<std::string>(&value.value);
  if (text != nullptr && (*text == own.str() || *text == c10::DeviceTypeName(own.type(), true))) {
    return IValue(own);
  }
  return Refuse(place, c10::str("a plan runs on one device and names none; leave \"",
                                place.argument.name(), "\" out (found ", Describe(value), ")"));
}

Checked<IValue> ToList(const OpValue& value, const c10::Type& element, const Place& place) {
  OpList one;
  const auto* list = std::get_if<OpList>(&value.value);
  if (list == nullptr) {
    const bool is_number = std::holds_alternative<int64_t>(value.value) ||
                           std::holds_alternative<double>(value.value) ||
                           std::holds_alternative<Expr>(value.value);
    if (!is_number || !place.argument.N()) return Mismatch(place, "a list", value);
    one.assign(static_cast<size_t>(*place.argument.N()), value);
    list = &one;
  }
  std::vector<IValue> values;
  for (const OpValue& each : *list) {
    auto converted = Convert(each, element, place);
    if (!converted) return converted;
    values.push_back(std::move(*converted));
  }
  switch (element.kind()) {
    case TypeKind::TensorType: {
      c10::List<at::Tensor> result;
      for (const IValue& each : values) result.push_back(each.toTensor());
      return IValue(std::move(result));
    }
    case TypeKind::OptionalType: {  // Tensor?[]
      c10::List<std::optional<at::Tensor>> result;
      for (const IValue& each : values) result.push_back(each.toOptional<at::Tensor>());
      return IValue(std::move(result));
    }
    case TypeKind::IntType:
    case TypeKind::SymIntType: {
      c10::List<int64_t> result;
      for (const IValue& each : values) result.push_back(each.toInt());
      return IValue(std::move(result));
    }
    case TypeKind::FloatType: {
      c10::List<double> result;
      for (const IValue& each : values) result.push_back(each.toDouble());
      return IValue(std::move(result));
    }
    case TypeKind::BoolType: {
      c10::List<bool> result;
      for (const IValue& each : values) result.push_back(each.toBool());
      return IValue(std::move(result));
    }
    default:
      return Refuse(place, c10::str("a list of ", element.str(), " cannot be written in a plan"));
  }
}

Checked<IValue> Convert(const OpValue& value, const c10::Type& type, const Place& place) {
  switch (type.kind()) {
    case TypeKind::OptionalType: {
      const auto element = type.expectRef<c10::OptionalType>().getElementType();
      if (std::holds_alternative<std::monostate>(value.value)) return IValue();
      return Convert(value, *element, place);
    }
    case TypeKind::TensorType:
      return ToTensor(value, place);
    case TypeKind::ListType: {
      const auto element = type.expectRef<c10::ListType>().getElementType();
      if (element->kind() == TypeKind::OptionalType &&
          element->expectRef<c10::OptionalType>().getElementType()->kind() !=
              TypeKind::TensorType) {
        return Refuse(place, c10::str("a ", type.str(), " cannot be written in a plan"));
      }
      return ToList(value, *element, place);
    }
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return ToInt(value, place);
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return ToFloat(value, place);
    case TypeKind::NumberType:
      return ToNumber(value, place);
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return ToBool(value, place);
    case TypeKind::StringType:
      if (const auto* text = std::get_if<std::string>(&value.value)) return IValue(*text);
      return Mismatch(place, "a string", value);
    case TypeKind::ScalarTypeType:
      return ToDtype(value, place);
    case TypeKind::LayoutType:
      return ToLayout(value, place);
    case TypeKind::MemoryFormatType:
      return ToMemoryFormat(value, place);
    case TypeKind::DeviceObjType:
      return ToDevice(value, place);
    default:
      return Refuse(place, c10::str("a ", type.str(), " cannot be written in a plan"));
  }
}

}  // namespace

Checked<c10::IValue> ConvertValue(const candidate::OpValue& value, const c10::Argument& argument,
                                  const std::string& where, OpScope& scope) {
  return Convert(value, *argument.real_type(), Place{where, argument, scope});
}

}  // namespace cudaagent::device
