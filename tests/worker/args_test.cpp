#include "worker/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cudaagent::worker {
namespace {

using testing::HasSubstr;

TEST(ArgsTest, ReadsDeviceModelAndSpare) {
  auto cpu = ParseArgs({"--device", "cpu", "--model-gpu", "a100"});
  ASSERT_TRUE(cpu);
  EXPECT_FALSE(cpu->gpu);
  EXPECT_EQ(cpu->model_gpu, "a100");
  EXPECT_FALSE(cpu->spare);
  auto gpu = ParseArgs({"--device", "gpu:3", "--spare"});
  ASSERT_TRUE(gpu);
  EXPECT_TRUE(gpu->gpu);
  EXPECT_EQ(gpu->gpu_index, 3);
  EXPECT_TRUE(gpu->spare);
  EXPECT_EQ(ParseArgs({"--device", "gpu"})->gpu_index, 0);
}

TEST(ArgsTest, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--device"},
                                             {"--device", "gpu:"},
                                             {"--device", "gpu:-1"},
                                             {"--device", "gpu:1x"},
                                             {"--device", "tpu"},
                                             {"--device", "cpu", "--verbose"}}) {
    auto args = ParseArgs(arguments);
    ASSERT_FALSE(args);
    EXPECT_EQ(args.error().code, ErrorCode::kUsage);
  }
  EXPECT_THAT(ParseArgs({"--device", "tpu"}).error().message, HasSubstr("\"tpu\""));
}

}  // namespace
}  // namespace cudaagent::worker
