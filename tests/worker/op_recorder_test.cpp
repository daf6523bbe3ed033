#include "worker/op_recorder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <thread>

namespace cudaagent::worker {
namespace {

std::vector<std::string> Names(const OpRecorder& recorder) {
  std::vector<std::string> names;
  for (const RecordedOp& op : recorder.ops()) names.push_back(op.node.op);
  return names;
}

TEST(OpRecorderTest, SeesOutermostOperatorsWithTheirShapes) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::rand({8, 16}), weight = at::rand({32, 16});
  const OpRecorder recorder;
  const at::Tensor h = at::linear(x, weight);
  at::relu(h);
  ASSERT_EQ(Names(recorder), (std::vector<std::string>{"aten::linear", "aten::relu"}));
  const RecordedOp& linear = recorder.ops()[0];
  ASSERT_EQ(linear.node.outputs.size(), 1u);
  EXPECT_EQ(linear.node.outputs[0].shape, (std::vector<int64_t>{8, 32}));
  const graph::Work work = graph::EstimateNode(linear.node, linear.tensors);
  EXPECT_EQ(work.flops, 2.0 * 8 * 32 * 16);
  EXPECT_EQ(work.bytes_read, (8 * 16 + 32 * 16) * 4);
  EXPECT_EQ(work.bytes_written, 8 * 32 * 4);
}

TEST(OpRecorderTest, LeavesOutViewsAndAllocations) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::rand({8, 16});
  const OpRecorder recorder;
  (void)at::empty({4});
  (void)x.view({16, 8}).transpose(0, 1).contiguous();  // the last one copies
  (void)x.contiguous();
  x.mul_(2);
  EXPECT_EQ(Names(recorder), (std::vector<std::string>{"aten::contiguous", "aten::mul_"}));
}

TEST(OpRecorderTest, RecordsOnlyWhileItLives) {
  const at::Tensor x = at::rand({8});
  {
    const OpRecorder recorder;
    std::thread([&] { (void)x.add(1); }).join();
    EXPECT_TRUE(recorder.ops().empty());
  }
  (void)x.add(1);
  const OpRecorder recorder;
  EXPECT_TRUE(recorder.ops().empty());
  (void)x.add(1);
  EXPECT_EQ(recorder.ops().size(), 1u);
}

}  // namespace
}  // namespace cudaagent::worker
