// Which nodes of a graph become which kernel.
#pragma once

#include <set>
#include <vector>

#include "rewrite/builder.h"
#include "rewrite/normal_graph.h"
#include "rewrite/program.h"

namespace cudaagent::rewrite {

struct Region {
  std::set<size_t> nodes;
  Program program;
};

// One step of the new plan: a region (index) or a single node left to ATen.
struct Unit {
  int region = -1;
  size_t node = 0;
};

struct Partition {
  std::vector<Region> regions;
  std::vector<Unit> order;  // every node exactly once, each after what it reads
};

// Grows regions greedily along producers, as long as a single kernel can compute them and no two
// regions wait for each other. Nodes that only reshape what no region computes stay with ATen.
Partition FindRegions(const NormalGraph& graph, const GraphLinks& links);

}  // namespace cudaagent::rewrite
