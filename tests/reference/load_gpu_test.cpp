#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/python/models.h"
#include "reference/reference.h"

namespace cudaagent::reference {
namespace {

// The bytes torch holds on the GPU without using them.
int64_t CachedBytes() {
  auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  auto aggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return stats.reserved_bytes[aggregate].current - stats.allocated_bytes[aggregate].current;
}

class LoadReferenceGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (c10::cuda::device_count() == 0) GTEST_SKIP() << "this machine shows no GPU";
  }
};

TEST_F(LoadReferenceGpuTest, PutsEverythingOnTheGpuAndKeepsNothingElseThere) {
  ProblemSpec spec = SpecOf(
      WithForward("return torch.min(self.fc(x), torch.tensor(0.25))", "self.fc = nn.Linear(4, 8)"),
      {{"N", "100000000"}});
  auto reference = LoadReference(spec, "cuda:0");
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_EQ((*reference)->info().export_error, "");
  EXPECT_LT(CachedBytes(), 64 << 20);
  for (const auto& [name, tensor] : (*reference)->parameters())
    EXPECT_TRUE(tensor.is_cuda()) << name;
  EXPECT_EQ((*reference)->parameters().count("const0"), 1u);

  auto inputs = (*reference)->MakeInputs(1);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_TRUE((*inputs)[0].toTensor().is_cuda());
  auto eager = (*reference)->Forward(*inputs, Precision::kFp32);
  ASSERT_TRUE(eager) << eager.error().message;
  EXPECT_TRUE((*eager)[0].is_cuda());
}

TEST_F(LoadReferenceGpuTest, SaysHowLargeAProblemIsThatDoesNotFit) {
  auto reference =
      LoadReference(SpecOf(WithForward("return x"), {{"N", "1099511627776"}}), "cuda:0");
  ASSERT_FALSE(reference);
  EXPECT_EQ(reference.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(
      reference.error().message,
      ::testing::StartsWith("model.py does not fit in memory on cuda:0: it needs 16384.0 GiB "
                            "of inputs, and "));
  // Too large only while running.
  reference = LoadReference(SpecOf(WithForward("return x.new_zeros(2**42)")), "cuda:0");
  ASSERT_FALSE(reference);
  EXPECT_EQ(reference.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(
      reference.error().message,
      ::testing::StartsWith("model.py does not fit in memory on cuda:0: while running forward, "
                            "CUDA out of memory. Tried to allocate 16384.00 GiB."));
}

}  // namespace
}  // namespace cudaagent::reference
