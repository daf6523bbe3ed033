#include "candidate/reader.h"

#include <algorithm>

#include "candidate/spelling.h"

namespace cudaagent::candidate {
namespace {

std::string Member(const std::string& where, const std::string& key) {
  if (!IsIdentifier(key)) return where + "[" + Quote(key, 40) + "]";
  return where.empty() ? key : where + "." + key;
}

}  // namespace

void Node::Refuse(const std::string& what) const {
  throw Refusal{where_.empty() ? "plan: " + what : where_ + ": " + what};
}

Node Node::Field(const std::string& key) const {
  if (!json_->contains(key)) Refuse("the field " + Quote(key) + " is missing");
  return Node(json_->at(key), Member(where_, key));
}

Node Node::Element(size_t index) const {
  return Node(json_->at(index), where_ + "[" + std::to_string(index) + "]");
}

std::vector<std::pair<std::string, Node>> Node::Fields(std::string_view what) const {
  if (!json_->is_object()) Refuse("expected " + std::string(what) + ", found " + Describe());
  std::vector<std::pair<std::string, Node>> fields;
  for (const auto& [key, value] : json_->items()) {
    fields.emplace_back(key, Node(value, Member(where_, key)));
  }
  return fields;
}

std::vector<Node> Node::Elements(std::string_view what) const {
  if (!json_->is_array()) Refuse("expected " + std::string(what) + ", found " + Describe());
  std::vector<Node> elements;
  for (size_t i = 0; i < json_->size(); ++i) elements.push_back(Element(i));
  return elements;
}

void Node::AllowFields(std::string_view what, const std::vector<std::string>& known) const {
  if (!json_->is_object()) Refuse("expected " + std::string(what) + ", found " + Describe());
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      Refuse("unknown field " + Quote(key) + Suggest(key, known));
    }
  }
}

void Node::RefuseUnsupported(std::initializer_list<const char*> fields) const {
  if (!json_->is_object()) return;
  for (const char* field : fields) {
    if (json_->contains(field)) {
      Refuse(Quote(field) + " is not supported by this version; do without it");
    }
  }
}

std::string Node::String(std::string_view what) const {
  if (!json_->is_string()) Refuse("expected " + std::string(what) + ", found " + Describe());
  return json_->get<std::string>();
}

bool Node::Bool() const {
  if (!json_->is_boolean()) Refuse("expected true or false, found " + Describe());
  return json_->get<bool>();
}

int64_t Node::Integer(std::string_view what) const {
  if (!json_->is_number_integer()) {
    Refuse("expected " + std::string(what) + ", found " + Describe());
  }
  if (json_->is_number_unsigned() && json_->get<uint64_t>() > INT64_MAX) {
    Refuse(Describe() + " does not fit in 64 bits");
  }
  return json_->get<int64_t>();
}

Expr Node::Expression() const {
  if (json_->is_number_integer()) return Expr(Integer("an integer"));
  if (json_->is_object()) {
    AllowFields("an integer expression", {"expr"});
    return Field("expr").Expression();
  }
  if (!json_->is_string()) Refuse("expected an integer or an expression, found " + Describe());
  auto expr = Expr::Parse(json_->get_ref<const std::string&>());
  if (!expr) Refuse(expr.error().message);
  return *expr;
}

std::optional<Expr> Node::When() const {
  if (!Has("when")) return std::nullopt;
  return Field("when").Expression();
}

std::string Node::Describe() const {
  switch (json_->type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::string:
      return "the string " + Quote(json_->get_ref<const std::string&>(), 40);
    case Json::value_t::array:
      return json_->empty() ? "an empty list" : "a list";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::boolean:
      return json_->get<bool>() ? "true" : "false";
    default:
      return "the number " + json_->dump();
  }
}

std::string ReadDtype(const Node& node) {
  static const std::vector<std::string> kDtypes = {
      "float32", "float16", "bfloat16", "float64",       "int8",        "uint8",  "int16", "int32",
      "int64",   "bool",    "uint16",   "float8_e4m3fn", "float8_e5m2", "uint32", "uint64"};
  const std::string dtype = node.String("a dtype such as \"float32\"");
  if (std::find(kDtypes.begin(), kDtypes.end(), dtype) == kDtypes.end()) {
    node.Refuse("unknown dtype " + Quote(dtype) + Suggest(dtype, kDtypes));
  }
  return dtype;
}

}  // namespace cudaagent::candidate
