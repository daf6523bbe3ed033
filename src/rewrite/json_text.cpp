#include "rewrite/json_text.h"

#include <algorithm>
#include <cmath>

namespace cudaagent::rewrite {
namespace {

using nlohmann::ordered_json;

constexpr size_t kColumns = 100;

std::string Scalar(const ordered_json& value) {
  std::string text = value.dump();
  for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at)) {
    text.replace(at, 2, "*\\/");
  }
  return text;
}

std::string OneLine(const ordered_json& value) {
  if (!value.is_structured()) return Scalar(value);
  std::string text = value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!first) text += ", ";
    first = false;
    if (value.is_object()) text += Scalar(key) + ": ";
    text += OneLine(item);
  }
  return text + (value.is_object() ? "}" : "]");
}

std::string Layout(const ordered_json& value, size_t indent, size_t column) {
  std::string line = OneLine(value);
  if (!value.is_structured() || value.empty() || column + line.size() <= kColumns) return line;
  // A step and a list of plain values are filled up to the margin; in anything else each item has
  // its own line.
  bool fill = value.contains("op") || value.contains("kernel");
  if (value.is_array()) {
    fill = std::none_of(value.begin(), value.end(), [](const auto& v) { return v.is_object(); });
  }
  const size_t inner = indent + (fill ? 1 : 2);
  std::string text = value.is_object() ? "{" : "[";
  size_t at = fill ? column + 1 : kColumns + 1;
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!first) text += ",";
    std::string prefix = value.is_object() ? Scalar(key) + ": " : "";
    size_t width = prefix.size() + OneLine(item).size() + 2;
    if (fill && at + width <= kColumns) {
      if (!first) text += " ";
      at += first ? width - 1 : width;
      text += prefix + OneLine(item);
    } else {
      text += "\n" + std::string(inner, ' ') + prefix;
      text += Layout(item, inner, inner + prefix.size());
      at = fill ? inner + width : kColumns + 1;
    }
    first = false;
  }
  if (!fill) text += "\n" + std::string(indent, ' ');
  return text + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string PrettyJson(const ordered_json& value, int indent) {
  return Layout(value, static_cast<size_t>(indent), static_cast<size_t>(indent));
}

ordered_json ToJson(const graph::Value& value,
                    const std::function<std::string(const std::string&)>& ref) {
  struct Visitor {
    const std::function<std::string(const std::string&)>& ref;
    ordered_json operator()(std::monostate) const { return nullptr; }
    ordered_json operator()(bool v) const { return v; }
    ordered_json operator()(int64_t v) const { return v; }
    ordered_json operator()(double v) const {
      if (std::isnan(v)) return "nan";
      if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
      return v;
    }
    ordered_json operator()(const std::string& v) const { return v; }
    ordered_json operator()(const graph::Ref& v) const { return ref(v.name); }
    ordered_json operator()(const graph::ValueList& v) const {
      ordered_json list = ordered_json::array();
      for (const graph::Value& item : v) list.push_back(std::visit(*this, item.value));
      return list;
    }
  };
  return std::visit(Visitor{ref}, value.value);
}

}  // namespace cudaagent::rewrite
