#include "device/liveness.h"

#include <gtest/gtest.h>

#include "device/fake_device.h"

namespace cudaagent::device {
namespace {

TEST(LivenessTest, EndsWithTheLastMention) {
  const auto candidate = Candidate(R"({"plan": 1, "steps": [
      {"op": "aten::relu", "args": ["$x"], "out": "a"},
      {"op": "aten::relu", "args": ["$a"], "out": "b"},
      {"repeat": "i", "count": 2, "steps": [
        {"op": "aten::cat", "args": [["$b", "$a"]], "out": "c{i}"}]},
      {"op": "aten::relu", "args": ["$c{1}"], "out": "out0"}]})");
  const Liveness liveness(candidate.plan.steps);
  EXPECT_TRUE(liveness.UsedAfter("a", 1));
  EXPECT_FALSE(liveness.UsedAfter("a", 2));
  EXPECT_TRUE(liveness.UsedAfter("b", 0));
  EXPECT_FALSE(liveness.UsedAfter("b", 2));
  EXPECT_TRUE(liveness.UsedAfter("c0", 2)) << "any c{...} may be meant";
  EXPECT_FALSE(liveness.UsedAfter("c0", 3));
  EXPECT_FALSE(liveness.UsedAfter("never", 0));
}

}  // namespace
}  // namespace cudaagent::device
