// Reading a JSON value that knows where it stands, so that every refusal names the place.
// Private to this room; the exception never leaves it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "candidate/expr.h"
#include "candidate/json_text.h"

namespace cudaagent::candidate {

// Thrown by Node and the readers built on it, caught in ParseCandidate.
struct Refusal {
  std::string message;
};

class Node {
 public:
  Node(const Json& json, std::string where) : json_(&json), where_(std::move(where)) {}

  const Json& json() const { return *json_; }
  const std::string& where() const { return where_; }

  // "steps[2].grid: what".
  [[noreturn]] void Refuse(const std::string& what) const;

  bool Has(const char* key) const { return json_->contains(key); }
  Node Field(const std::string& key) const;  // must exist
  Node Element(size_t index) const;          // must exist
  size_t size() const { return json_->size(); }
  // Every (key, value) of an object, in order of writing; refuses anything but an object.
  std::vector<std::pair<std::string, Node>> Fields(std::string_view what) const;
  std::vector<Node> Elements(std::string_view what) const;  // refuses anything but an array

  // Refuses an object's fields beyond `known`, naming the nearest known one.
  void AllowFields(std::string_view what, const std::vector<std::string>& known) const;
  // Says that a field of the format is not in this version yet.
  void RefuseUnsupported(std::initializer_list<const char*> fields) const;

  std::string String(std::string_view what) const;
  bool Bool() const;
  int64_t Integer(std::string_view what) const;
  // An integer, an expression in a string, or {"expr": "..."}.
  Expr Expression() const;
  // The expression of a "when" field, if there is one.
  std::optional<Expr> When() const;

  // What stands here in a few words: "the string \"x\"", "the number 5", "an object".
  std::string Describe() const;

 private:
  const Json* json_;
  std::string where_;
};

// "float32" and its like; refuses others with the nearest one.
std::string ReadDtype(const Node& node);

}  // namespace cudaagent::candidate
