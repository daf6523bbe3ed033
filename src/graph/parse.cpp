#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/graph.h"

namespace cudaagent::graph {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxNodes = 100'000;
constexpr size_t kMaxName = 1024;
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxList = 100'000;
constexpr int64_t kMaxBytes = int64_t{1} << 60;

// Thrown inside this file only; ParseGraph turns it into an Error.
struct Malformed {
  std::string what;
};

const json& Member(const json& object, const char* key) {
  auto it = object.find(key);
  if (it == object.end()) throw Malformed{std::string("\"") + key + "\" is missing"};
  return *it;
}

std::string Text(const json& value, const char* what) {
  if (!value.is_string()) throw Malformed{std::string(what) + " must be text"};
  auto text = value.get<std::string>();
  if (text.size() > kMaxName) throw Malformed{std::string(what) + " is too long"};
  return text;
}

std::string Name(const json& value, const char* what) {
  std::string text = Text(value, what);
  if (text.empty()) throw Malformed{std::string(what) + " is empty"};
  for (unsigned char c : text) {
    if (c <= ' ' || c == '"' || c == '\\' || c == 0x7f) {
      throw Malformed{std::string(what) + " holds a character that no name may hold"};
    }
  }
  return text;
}

const json::array_t& Array(const json& value, const char* what) {
  if (!value.is_array()) throw Malformed{std::string(what) + " must be a list"};
  const auto& array = value.get_ref<const json::array_t&>();
  if (array.size() > kMaxList) throw Malformed{std::string(what) + " is too long"};
  return array;
}

int64_t Int(const json& value, const char* what) {
  if (!value.is_number_integer()) throw Malformed{std::string(what) + " must be an integer"};
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    throw Malformed{std::string(what) + " does not fit 64 bits"};
  }
  return value.get<int64_t>();
}

double NamedFloat(const std::string& name) {
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "-inf") return -std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw Malformed{"\"float\" must be \"inf\", \"-inf\" or \"nan\""};
}

Value ToValue(const json& value, int depth) {
  if (depth > kMaxDepth) throw Malformed{"a value is nested too deeply"};
  switch (value.type()) {
    case json::value_t::null:
      return {};
    case json::value_t::boolean:
      return {value.get<bool>()};
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return {Int(value, "a number")};
    case json::value_t::number_float:
      return {value.get<double>()};
    case json::value_t::string:
      return {Text(value, "a string")};
    case json::value_t::array: {
      ValueList list;
      for (const json& item : Array(value, "a list")) list.push_back(ToValue(item, depth + 1));
      return {std::move(list)};
    }
    case json::value_t::object:
      if (value.size() == 1 && value.contains("ref")) return {Ref{Name(value["ref"], "\"ref\"")}};
      if (value.size() == 1 && value.contains("float")) {
        return {NamedFloat(Text(value["float"], "\"float\""))};
      }
      throw Malformed{"an object must be {\"ref\": name} or {\"float\": text}"};
    default:
      throw Malformed{"a value has no known type"};
  }
}

int64_t ItemSize(const std::string& dtype) {
  static const std::map<std::string, int64_t> kSizes = {
      {"float32", 4},       {"float64", 8},    {"float16", 2},     {"bfloat16", 2},
      {"int64", 8},         {"int32", 4},      {"int16", 2},       {"int8", 1},
      {"uint8", 1},         {"bool", 1},       {"uint16", 2},      {"uint32", 4},
      {"uint64", 8},        {"complex64", 8},  {"complex128", 16}, {"complex32", 4},
      {"float8_e4m3fn", 1}, {"float8_e5m2", 1}};
  auto it = kSizes.find(dtype);
  if (it == kSizes.end()) throw Malformed{"dtype \"" + dtype + "\" is unknown"};
  return it->second;
}

TensorInfo ToTensor(const json& value) {
  if (!value.is_object()) throw Malformed{"an output must be an object"};
  TensorInfo info;
  info.name = Name(Member(value, "name"), "an output's name");
  info.dtype = Text(Member(value, "dtype"), "a dtype");
  int64_t total = ItemSize(info.dtype);
  for (const json& extent : Array(Member(value, "shape"), "a shape")) {
    info.shape.push_back(Int(extent, "an extent"));
    if (info.shape.back() < 0) throw Malformed{"an extent is negative"};
    if (info.shape.back() > 0 && total > kMaxBytes / info.shape.back()) {
      throw Malformed{"a tensor is larger than any memory"};
    }
    total *= info.shape.back();
  }
  for (const json& stride : Array(Member(value, "strides"), "strides")) {
    info.strides.push_back(Int(stride, "a stride"));
    if (info.strides.back() < 0) throw Malformed{"a stride is negative"};
  }
  if (info.shape.size() > kMaxRank) throw Malformed{"a tensor has too many dimensions"};
  if (info.shape.size() != info.strides.size()) {
    throw Malformed{"a tensor's shape and strides differ in length"};
  }
  info.bytes = total;
  info.contiguous = true;
  int64_t expected = 1;
  for (size_t d = info.shape.size(); d-- > 0;) {
    if (info.shape[d] != 1 && info.strides[d] != expected) info.contiguous = false;
    expected *= info.shape[d];
  }
  if (total == 0) info.contiguous = true;
  return info;
}

Node ToNode(const json& value) {
  if (!value.is_object()) throw Malformed{"a node must be an object"};
  Node node;
  node.name = Name(Member(value, "name"), "a node's name");
  node.op = Name(Member(value, "op"), "\"op\"");
  node.overload = Text(Member(value, "overload"), "\"overload\"");
  for (const json& arg : Array(Member(value, "args"), "\"args\"")) {
    node.args.push_back(ToValue(arg, 0));
  }
  if (auto it = value.find("kwargs"); it != value.end()) {
    if (!it->is_object()) throw Malformed{"\"kwargs\" must be an object"};
    for (const auto& [key, arg] : it->items()) node.kwargs.emplace_back(key, ToValue(arg, 0));
  }
  for (const json& output : Array(Member(value, "outputs"), "\"outputs\"")) {
    node.outputs.push_back(ToTensor(output));
  }
  if (auto it = value.find("returns_list"); it != value.end()) {
    if (!it->is_boolean()) throw Malformed{"\"returns_list\" must be true or false"};
    node.returns_list = it->get<bool>();
  }
  return node;
}

}  // namespace

Result<Graph> ParseGraph(std::string_view text) {
  std::string where = "the graph";
  try {
    json document = json::parse(text, nullptr, /*allow_exceptions=*/true);
    if (!document.is_object()) throw Malformed{"it must be an object"};
    Graph graph;
    const auto& nodes = Array(Member(document, "nodes"), "\"nodes\"");
    if (nodes.size() > kMaxNodes) throw Malformed{"it has too many nodes"};
    std::set<std::string> results;
    std::set<std::string> foreign;  // names used before any node bore them: the problem's
    for (size_t i = 0; i < nodes.size(); ++i) {
      where = "node " + std::to_string(i);
      Node node = ToNode(nodes[i]);
      where += " (" + node.name + ", " + node.op + ")";
      for (const std::string& name : RefsOf(node)) {
        if (!results.count(name)) foreign.insert(name);
      }
      for (const TensorInfo& output : node.outputs) {
        if (foreign.count(output.name)) {
          throw Malformed{"\"" + output.name + "\" is used before it is computed"};
        }
        if (!results.insert(output.name).second) {
          throw Malformed{"two results are named \"" + output.name + "\""};
        }
      }
      graph.nodes.push_back(std::move(node));
    }
    where = "the list of outputs";
    for (const json& output : Array(Member(document, "outputs"), "\"outputs\"")) {
      graph.outputs.push_back(Name(output, "an output"));
    }
    if (graph.outputs.empty()) throw Malformed{"it is empty: the model returns no tensor"};
    return graph;
  } catch (const Malformed& error) {
    return Fail(ErrorCode::kInternal,
                "The exported graph is malformed at " + where + ": " + error.what + ".");
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kInternal,
                "The exported graph is malformed at " + where + ": " + error.what());
  }
}

}  // namespace cudaagent::graph
