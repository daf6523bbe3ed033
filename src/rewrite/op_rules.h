// What is known about operators: which are pointwise, which reduce, and what they compute.
#pragma once

#include <optional>
#include <string>

#include "rewrite/builder.h"

namespace cudaagent::rewrite {

// Arguments by position or by name, as the operator's schema would bind them.
class NodeArgs {
 public:
  explicit NodeArgs(const graph::Node& node) : node_(node) {}
  // nullptr where it is left out or None.
  const graph::Value* Find(size_t index, const char* name) const;
  std::optional<std::string> Tensor(size_t index, const char* name) const;
  std::optional<double> Number(size_t index, const char* name) const;  // int, float or bool
  double NumberOr(size_t index, const char* name, double otherwise) const;
  bool FlagOr(size_t index, const char* name, bool otherwise) const;
  std::string TextOr(size_t index, const char* name, const std::string& otherwise) const;
  std::optional<std::vector<int64_t>> Ints(size_t index, const char* name) const;

 private:
  const graph::Node& node_;
};

// Computes one element from elements of its operands, broadcast.
bool IsPointwise(const graph::Node& node);
// Gives its first operand's elements another shape (view, flatten, expand): free in a kernel, but a
// kernel of its own would be waste.
bool IsReshape(const graph::Node& node);

// The elements a node reduces: the space as [outer, reduced, inner]. inner == 1 means rows. Scans
// (cumsum) go along the reduced dimension, pools have windows over the space [outer, reduced].
struct Reduction {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
  bool scan = false;
  bool reverse = false;  // a scan from the end
  std::optional<Window> window;
  bool operator==(const Reduction&) const = default;
};
// std::nullopt for nodes without a reduction or with one no template covers.
std::optional<Reduction> ReductionOf(const graph::Node& node, const NormalGraph& graph);

// The value of result `ref` of the node at the coordinates. Throws NotFusible.
int MakePointwise(Builder& builder, const graph::Node& node, const Coordinates& coordinates,
                  bool outer);
int MakeReshape(Builder& builder, const graph::Node& node, const Coordinates& coordinates,
                bool outer);
int MakeReduction(Builder& builder, const graph::Node& node, const std::string& ref,
                  const Coordinates& coordinates, bool outer);

}  // namespace cudaagent::rewrite
