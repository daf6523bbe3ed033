// PyTorch adds a convolution's bias in a pass of its own over the result. Where a kernel follows
// anyway, it can add the bias for nothing.
#pragma once

#include "rewrite/normal_graph.h"
#include "rewrite/regions.h"

namespace cudaagent::rewrite {

// The operator that adds one number per channel (dimension 1): no ATen operator, only a rule.
inline constexpr char kAddChannelBias[] = "aten::add_channel_bias";

// Every convolution with a bias becomes one without and an kAddChannelBias that follows it.
void SplitConvBiases(NormalGraph& graph);

// Undoes it where the addition is not in one kernel with anything else. Whether any was undone.
bool RejoinConvBiases(NormalGraph& graph, const Partition& partition);

}  // namespace cudaagent::rewrite
