#include "rewrite/op_rules.h"

namespace cudaagent::rewrite {

using graph::Value;

const Value* NodeArgs::Find(size_t index, const char* name) const {
  const Value* found = nullptr;
  if (index < node_.args.size()) found = &node_.args[index];
  for (const auto& [key, value] : node_.kwargs) {
    if (key == name) found = &value;
  }
  if (found != nullptr && std::holds_alternative<std::monostate>(found->value)) return nullptr;
  return found;
}

std::optional<std::string> NodeArgs::Tensor(size_t index, const char* name) const {
  const Value* value = Find(index, name);
  const graph::Ref* ref = value == nullptr ? nullptr : AsRef(*value);
  if (ref == nullptr) return std::nullopt;
  return ref->name;
}

std::optional<double> NodeArgs::Number(size_t index, const char* name) const {
  const Value* value = Find(index, name);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<double>(&value->value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(&value->value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* flag = std::get_if<bool>(&value->value)) return *flag ? 1.0 : 0.0;
  return std::nullopt;
}

double NodeArgs::NumberOr(size_t index, const char* name, double otherwise) const {
  if (Find(index, name) == nullptr) return otherwise;
  std::optional<double> number = Number(index, name);
  if (!number) throw NotFusible{};
  return *number;
}

bool NodeArgs::FlagOr(size_t index, const char* name, bool otherwise) const {
  return NumberOr(index, name, otherwise ? 1.0 : 0.0) != 0.0;
}

std::string NodeArgs::TextOr(size_t index, const char* name, const std::string& otherwise) const {
  const Value* value = Find(index, name);
  if (value == nullptr) return otherwise;
  const auto* text = std::get_if<std::string>(&value->value);
  if (text == nullptr) throw NotFusible{};
  return *text;
}

std::optional<std::vector<int64_t>> NodeArgs::Ints(size_t index, const char* name) const {
  const Value* value = Find(index, name);
  if (value == nullptr) return std::nullopt;
  if (const auto* single = std::get_if<int64_t>(&value->value)) return std::vector{*single};
  const auto* list = std::get_if<graph::ValueList>(&value->value);
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Value& item : *list) {
    const auto* number = std::get_if<int64_t>(&item.value);
    if (number == nullptr) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace cudaagent::rewrite
