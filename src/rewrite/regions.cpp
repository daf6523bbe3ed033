#include "rewrite/regions.h"

#include <algorithm>
#include <optional>

#include "rewrite/op_rules.h"

namespace cudaagent::rewrite {
namespace {

using graph::Node;

class Finder {
 public:
  Finder(const NormalGraph& graph, const GraphLinks& links) : graph_(graph), links_(links) {
    unit_of_.resize(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      unit_of_[n] = n;  // the smallest node of the unit stands for it
      members_[n] = {n};
    }
  }

  Partition Run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) Grow(n);
    JoinSiblings();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) TrimReshape(n);
    return Collect();
  }

 private:
  std::vector<size_t> ProducersOf(size_t n) const {
    std::vector<size_t> producers;
    for (const std::string& ref : graph::RefsOf(graph_.nodes[n])) {
      if (auto it = links_.producer.find(ref); it != links_.producer.end()) {
        producers.push_back(it->second);
      }
    }
    return producers;
  }

  void Grow(size_t n) {
    const bool reshape = IsReshape(graph_.nodes[n]);
    if (!reshape) {
      if (!BuildProgram(graph_, links_, {n})) {
        // It may still be one with its producers: what it gives is no tensor a kernel may write.
        if (!IsPointwise(graph_.nodes[n])) return;
      } else {
        fused_.insert(n);
      }
    }
    // All producers' units at once, else each by itself, the nearest first.
    std::vector<size_t> units;
    for (size_t producer : ProducersOf(n)) {
      const size_t unit = unit_of_[producer];
      if (fused_.count(unit) && std::find(units.begin(), units.end(), unit) == units.end()) {
        units.push_back(unit);
      }
    }
    std::sort(units.rbegin(), units.rend());
    if (units.empty() || Merge(units, n)) return;
    if (units.size() > 1) {
      for (size_t unit : units) Merge({unit}, n);
    }
  }

  // Joins the units with the one of node n, where that is one kernel and makes no circle.
  bool Merge(const std::vector<size_t>& units, size_t n) {
    std::set<size_t> nodes = members_.at(unit_of_[n]);
    for (size_t unit : units) {
      if (!members_.count(unit)) return false;
      nodes.insert(members_.at(unit).begin(), members_.at(unit).end());
    }
    if (!BuildProgram(graph_, links_, nodes) || MakesCircle(nodes)) return false;
    const size_t head = *nodes.begin();
    for (size_t member : nodes) {
      members_.erase(unit_of_[member]);
      fused_.erase(unit_of_[member]);
    }
    for (size_t member : nodes) unit_of_[member] = head;
    members_[head] = nodes;
    fused_.insert(head);
    return true;
  }

  // Two kernels that read the same large tensor become one that reads it once, where one of them
  // reduces it (other pairs gain little and cost registers).
  void JoinSiblings() {
    for (const auto& [ref, readers] : links_.readers) {
      for (size_t first : readers) {
        for (size_t second : readers) {
          const size_t a = unit_of_[first];
          const size_t b = unit_of_[second];
          if (a >= b || !fused_.count(a) || !fused_.count(b)) continue;
          if (Reduces(a, ref) || Reduces(b, ref)) Merge({a}, second);
        }
      }
    }
  }

  bool Reduces(size_t unit, const std::string& ref) const {
    std::optional<Program> program = BuildProgram(graph_, links_, members_.at(unit));
    return program && program->kind != ProgramKind::kPointwise &&
           graph_.tensors.at(ref).numel() == program->elements;
  }

  // Whether something outside `nodes` reads from them and is read by them, through any units.
  bool MakesCircle(const std::set<size_t>& nodes) const {
    std::set<size_t> seen;
    std::vector<size_t> open;
    auto visit = [&](size_t unit) {
      if (seen.insert(unit).second) open.push_back(unit);
    };
    // Backwards from the nodes' outside producers; arriving at the nodes again is a circle.
    for (size_t n : nodes) {
      for (size_t producer : ProducersOf(n)) {
        if (!nodes.count(producer)) visit(unit_of_[producer]);
      }
    }
    while (!open.empty()) {
      const size_t unit = open.back();
      open.pop_back();
      for (size_t member : members_.at(unit)) {
        for (size_t producer : ProducersOf(member)) {
          if (nodes.count(producer)) return true;
          visit(unit_of_[producer]);
        }
      }
    }
    return false;
  }

  // A reshape at a region's end whose source is written anyway would write it a second time: as a
  // view by ATen it costs nothing.
  void TrimReshape(size_t n) {
    const size_t unit = unit_of_[n];
    if (!IsReshape(graph_.nodes[n]) || !fused_.count(unit)) return;
    std::set<size_t> rest = members_.at(unit);
    const std::string& result = graph_.nodes[n].outputs[0].name;
    if (auto readers = links_.readers.find(result); readers != links_.readers.end()) {
      for (size_t reader : readers->second) {
        if (rest.count(reader)) return;
      }
    }
    const std::string source = graph::RefsOf(graph_.nodes[n]).at(0);
    bool written = links_.outputs.count(source) > 0;
    if (auto readers = links_.readers.find(source); readers != links_.readers.end()) {
      for (size_t reader : readers->second) written = written || !rest.count(reader);
    }
    if (!written) return;
    rest.erase(n);
    if (rest.empty() || !BuildProgram(graph_, links_, rest)) return;
    members_.erase(unit);
    fused_.erase(unit);
    const size_t head = *rest.begin();
    for (size_t member : rest) unit_of_[member] = head;
    members_[head] = rest;
    fused_.insert(head);
    unit_of_[n] = n;
    members_[n] = {n};
  }

  Partition Collect() {
    Partition partition;
    std::map<size_t, int> region_of;
    for (size_t unit : fused_) {
      Region region;
      region.nodes = members_.at(unit);
      region.program = *BuildProgram(graph_, links_, region.nodes);
      region_of[unit] = static_cast<int>(partition.regions.size());
      partition.regions.push_back(std::move(region));
    }
    std::set<size_t> placed;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      Place(unit_of_[n], region_of, placed, partition);
    return partition;
  }

  // Depth first without recursion: a unit stands after all it reads.
  void Place(size_t unit, const std::map<size_t, int>& region_of, std::set<size_t>& placed,
             Partition& partition) const {
    std::vector<size_t> stack = {unit};
    while (!stack.empty()) {
      const size_t top = stack.back();
      if (placed.count(top)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (size_t member : members_.at(top)) {
        for (size_t producer : ProducersOf(member)) {
          const size_t other = unit_of_[producer];
          if (other == top || placed.count(other)) continue;
          stack.push_back(other);
          ready = false;
        }
      }
      if (!ready) continue;
      stack.pop_back();
      placed.insert(top);
      auto region = region_of.find(top);
      partition.order.push_back({region == region_of.end() ? -1 : region->second, top});
    }
  }

  const NormalGraph& graph_;
  const GraphLinks& links_;
  std::vector<size_t> unit_of_;
  std::map<size_t, std::set<size_t>> members_;
  std::set<size_t> fused_;  // units that become kernels
};

}  // namespace

Partition FindRegions(const NormalGraph& graph, const GraphLinks& links) {
  return Finder(graph, links).Run();
}

}  // namespace cudaagent::rewrite
