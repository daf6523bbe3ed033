#include "candidate/arg_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "candidate/expr_parser.h"
#include "candidate/spelling.h"
#include "candidate/validate.h"

namespace cudaagent::candidate {
namespace {

constexpr std::array<std::pair<ScalarType, std::string_view>, 9> kScalarNames = {{
    {ScalarType::kI32, "i32"},
    {ScalarType::kI64, "i64"},
    {ScalarType::kU32, "u32"},
    {ScalarType::kU64, "u64"},
    {ScalarType::kF32, "f32"},
    {ScalarType::kF64, "f64"},
    {ScalarType::kF16, "f16"},
    {ScalarType::kBf16, "bf16"},
    {ScalarType::kBool, "bool"},
}};

constexpr size_t kMaxPointers = 500;  // a kernel's parameters hold 4 KiB

constexpr const char* kArgForms =
    "a kernel argument is \"$name\", {\"ptr\": \"$name\"} or a typed scalar such as {\"i32\": 5}";

TensorRef ReadRef(const Node& node) {
  const std::string text = node.String("a tensor such as \"$x\"");
  if (!text.starts_with('$')) {
    node.Refuse(Quote(text) + " is a bare string; a tensor is written \"$name\"");
  }
  TensorRef ref{text.substr(1)};
  if (auto name = ParseNameTemplate(ref.name); !name) node.Refuse(name.error().message);
  return ref;
}

// "inf", "-inf" and "nan": numbers JSON has no word for.
std::optional<double> NamedFloat(const Node& node) {
  if (!node.json().is_string()) return std::nullopt;
  const std::string text = node.json().get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

ScalarArg ReadFloat(ScalarType type, const Node& node) {
  if (node.json().is_object()) {
    node.AllowFields("a floating-point expression", {"fexpr"});
    const std::string text = node.Field("fexpr").String("an expression");
    auto expr = Expr::ParseReal(text);
    if (!expr) node.Refuse(expr.error().message);
    return {type, *expr};
  }
  if (auto value = NamedFloat(node)) return {type, *value};
  if (!node.json().is_number()) {
    node.Refuse("expected a number, {\"fexpr\": \"...\"}, \"inf\", \"-inf\" or \"nan\", found " +
                node.Describe());
  }
  return {type, node.json().get<double>()};
}

ScalarArg ReadInteger(ScalarType type, const Node& node) {
  if (node.json().is_number_float()) node.Refuse("expected an integer, found " + node.Describe());
  if (!node.json().is_number_integer()) return {type, node.Expression()};
  const int64_t value = node.Integer("an integer");
  if (!FitsScalar(type, value)) {
    node.Refuse(std::to_string(value) + " does not fit in " + std::string(ScalarTypeName(type)));
  }
  return {type, value};
}

ScalarArg ReadScalar(ScalarType type, const Node& node) {
  switch (type) {
    case ScalarType::kF32:
    case ScalarType::kF64:
    case ScalarType::kF16:
    case ScalarType::kBf16:
      return ReadFloat(type, node);
    case ScalarType::kBool:
      if (node.json().is_boolean()) return {type, node.Bool()};
      if (node.json().is_number()) node.Refuse("expected true, false or an expression");
      return {type, node.Expression()};
    default:
      return ReadInteger(type, node);
  }
}

PointerArg ReadPointer(const Node& node) {
  if (node.json().is_string()) return PointerArg{ReadRef(node), std::nullopt, false};
  node.AllowFields("a pointer argument", {"ptr", "offset", "strided"});
  PointerArg arg;
  arg.tensor = ReadRef(node.Field("ptr"));
  if (node.Has("offset")) arg.offset = node.Field("offset").Expression();
  if (node.Has("strided")) arg.strided = node.Field("strided").Bool();
  return arg;
}

PointersArg ReadPointers(const Node& node) {
  node.AllowFields("a struct of pointers", {"ptrs"});
  PointersArg arg;
  const Node list = node.Field("ptrs");
  for (const Node& each : list.Elements("a list of tensors such as [\"$a\", \"$b\"]")) {
    arg.pointers.push_back(ReadPointer(each));
  }
  if (arg.pointers.empty() || arg.pointers.size() > kMaxPointers) {
    list.Refuse("expected 1 to " + std::to_string(kMaxPointers) + " tensors, found " +
                std::to_string(arg.pointers.size()));
  }
  return arg;
}

}  // namespace

std::string_view ScalarTypeName(ScalarType type) {
  for (const auto& [value, name] : kScalarNames) {
    if (value == type) return name;
  }
  return "?";
}

bool FitsScalar(ScalarType type, int64_t value) {
  switch (type) {
    case ScalarType::kI32:
      return value == static_cast<int32_t>(value);
    case ScalarType::kU32:
      return value == static_cast<uint32_t>(value);
    case ScalarType::kU64:
      return value >= 0;
    case ScalarType::kI64:
    case ScalarType::kBool:
      return true;
    default:
      return false;
  }
}

KernelArg ReadKernelArg(const Node& node) {
  const Json& json = node.json();
  if (json.is_string()) return ReadPointer(node);
  if (json.is_number_integer()) {
    node.Refuse("a bare number has no type; write {\"i32\": " + json.dump() + "}");
  }
  if (json.is_number()) {
    node.Refuse("a bare number has no type; write {\"f32\": " + json.dump() + "}");
  }
  if (json.is_boolean()) {
    node.Refuse("a bare boolean has no type; write {\"bool\": " + json.dump() + "}");
  }
  if (!json.is_object()) node.Refuse(std::string(kArgForms) + ", found " + node.Describe());
  if (node.Has("ptr")) return ReadPointer(node);
  if (node.Has("ptrs")) return ReadPointers(node);
  node.RefuseUnsupported({"tensor_map"});
  if (node.Has("fexpr")) {
    node.Refuse("an expression has no type here; write {\"f32\": {\"fexpr\": " +
                json.at("fexpr").dump() + "}}");
  }
  if (node.Has("expr")) {
    node.Refuse("an expression has no type here; write {\"i32\": " + json.at("expr").dump() + "}");
  }
  if (json.size() == 1) {
    for (const auto& [type, name] : kScalarNames) {
      if (node.Has(std::string(name).c_str())) {
        return ReadScalar(type, node.Field(std::string(name)));
      }
    }
  }
  std::vector<std::string> names = {"ptr", "ptrs"};
  for (const auto& [type, name] : kScalarNames) names.emplace_back(name);
  for (const auto& [key, value] : json.items()) {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      node.Refuse("unknown kind of argument " + Quote(key) + Suggest(key, names));
    }
  }
  node.Refuse(std::string(kArgForms) + ", with one key");
}

OpValue ReadOpValue(const Node& node) {
  const Json& json = node.json();
  OpValue value;
  switch (json.type()) {
    case Json::value_t::null:
      break;
    case Json::value_t::boolean:
      value.value = json.get<bool>();
      break;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      value.value = node.Integer("an integer");
      break;
    case Json::value_t::number_float:
      value.value = json.get<double>();
      break;
    case Json::value_t::string:
      if (json.get_ref<const std::string&>().starts_with('$')) {
        value.value = ReadRef(node);
      } else if (auto number = NamedFloat(node)) {
        value.value = *number;
      } else {
        value.value = json.get<std::string>();
      }
      break;
    case Json::value_t::array: {
      OpList list;
      for (const Node& each : node.Elements("a list")) list.push_back(ReadOpValue(each));
      value.value = std::move(list);
      break;
    }
    default:
      if (node.Has("fexpr")) {
        node.Refuse("an op's argument is a number or an integer {\"expr\"}; fexpr is for kernels");
      }
      value.value = node.Expression();
  }
  return value;
}

void CheckOwnName(const Node& node, const std::string& name) {
  static const std::vector<std::string> kWords = {"device", "param", "min",   "max",
                                                  "true",   "false", "numel", "ceil_div"};
  auto parsed = ParseNameTemplate(name);
  if (!parsed) node.Refuse(parsed.error().message);
  for (const std::string& text : parsed->texts) {
    if (text.find_first_of(".:") != std::string::npos) {
      node.Refuse("the name " + Quote(name) + " may hold only letters, digits and \"_\"");
    }
  }
  const std::string& head = parsed->texts.front();
  if (name.starts_with('$') || name.empty() || (!head.empty() && IsDigit(head[0]))) {
    node.Refuse("the name " + Quote(name) + " must start with a letter or \"_\"");
  }
  if (std::find(kWords.begin(), kWords.end(), name) != kWords.end()) {
    node.Refuse("the name " + Quote(name) + " has a meaning in expressions; choose another");
  }
}

}  // namespace cudaagent::candidate
