// Writes operators that are made of others (losses, global pools) as those, so that the rules for
// pointwise operators and reductions see them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "rewrite/normal_graph.h"
#include "rewrite/regions.h"

namespace cudaagent::rewrite {

// Pieces that are no ATen operators, only rules (pointwise_ops.cpp). All must end in a kernel.
// 0.5 d^2 / beta where d = |x - y| < beta, else d - 0.5 beta: (x, y, beta).
inline constexpr char kSmoothL1[] = "aten::smooth_l1_element";
// Pointwise KL divergence: (input, target, log_target).
inline constexpr char kKlDiv[] = "aten::kl_div_element";
// logsumexp[n] - x[n, target[n]], 0 where target[n] is ignored: (logsumexp or None, x, target,
// ignore_index).
inline constexpr char kNll[] = "aten::nll_element";
// 1 where target is not ignored, else 0: (target, ignore_index).
inline constexpr char kCounts[] = "aten::nll_counts";
// cumsum from the end to the beginning: (x, dim).
inline constexpr char kReverseCumsum[] = "aten::reverse_cumsum";

// New node name -> name of the node it was a part of.
using Origins = std::map<std::string, std::string>;

// Replaces every node it knows but those named in `kept`.
Origins Decompose(NormalGraph& graph, const std::set<std::string>& kept);

// The nodes whose parts did not all end in kernels: to be kept.
std::set<std::string> NotFused(const NormalGraph& graph, const Partition& partition,
                               const Origins& origins);

}  // namespace cudaagent::rewrite
