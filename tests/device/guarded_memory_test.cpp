#include "device/guarded_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace cudaagent::device {
namespace {

uint8_t* Bytes(const at::Tensor& tensor) {
  return static_cast<uint8_t*>(const_cast<void*>(tensor.const_data_ptr()));
}

TEST(GuardedMemoryTest, AllocatesAlignedTensorsOfAnyStride) {
  GuardedMemory memory;
  const at::Tensor dense = memory.Allocate("a", {3, 5}, {5, 1}, at::kFloat, at::kCPU);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(dense.const_data_ptr()) % GuardedMemory::kAlignment, 0U);
  EXPECT_TRUE(dense.is_contiguous());
  const at::Tensor columns = memory.Allocate("b", {3, 5}, {1, 3}, at::kHalf, at::kCPU);
  EXPECT_EQ(columns.strides(), (at::IntArrayRef{1, 3}));
  const at::Tensor scalar = memory.Allocate("c", {}, {}, at::kBool, at::kCPU);
  EXPECT_EQ(scalar.numel(), 1);
  const at::Tensor empty = memory.Allocate("d", {0, 4}, {4, 1}, at::kLong, at::kCPU);
  EXPECT_EQ(empty.numel(), 0);
  dense.fill_(1);
  columns.fill_(2);
  scalar.fill_(true);
  EXPECT_TRUE(memory.Check());
}

TEST(GuardedMemoryTest, TellsAWriteRightPastTheEnd) {
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kByte, at::kDouble}) {
    GuardedMemory memory;
    const at::Tensor tensor = memory.Allocate("out0", {7}, {1}, type, at::kCPU);
    tensor.fill_(1);
    ASSERT_TRUE(memory.Check());
    Bytes(tensor)[SpanBytes(tensor)] = 1;
    auto checked = memory.Check();
    ASSERT_FALSE(checked) << type;
    EXPECT_EQ(checked.error().verdict, Verdict::kOutOfBounds);
    EXPECT_EQ(checked.error().message,
              "A kernel wrote 1 byte past the end of out0, right beside it.");
    EXPECT_TRUE(memory.Check()) << "restored";
  }
}

TEST(GuardedMemoryTest, TellsAWriteBeforeTheStartAndItsDistance) {
  GuardedMemory memory;
  memory.Allocate("a", {4}, {1}, at::kFloat, at::kCPU);
  const at::Tensor tensor = memory.Allocate("partial", {4}, {1}, at::kFloat, at::kCPU);
  std::memset(Bytes(tensor) - 12, 0, 8);
  auto checked = memory.Check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "A kernel wrote 8 bytes before the start of partial, 4 bytes away from it.");
}

TEST(GuardedMemoryTest, ReadsOfAZoneGiveNaN) {
  GuardedMemory memory;
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    const at::Tensor tensor = memory.Allocate("t", {2}, {1}, type, at::kCPU);
    const at::Tensor beyond =
        at::empty({0}, tensor.options())
            .set_(tensor.storage(), tensor.storage_offset() + tensor.numel(), {4}, {1});
    EXPECT_TRUE(at::isnan(beyond).all().item<bool>()) << type;
  }
}

TEST(GuardLayoutTest, StrictBlocksEndWithTheirTensorButForItsAlignment) {
  constexpr int64_t kGranule = 2 << 20;
  for (const int64_t span : {0L, 1L, 4L, 255L, 256L, 257L, 256000L, kGranule - 65536,
                             kGranule - 65535, kGranule, 3 * kGranule + 12, 6442450944L}) {
    const GuardLayout layout = StrictLayout(span, kGranule);
    EXPECT_EQ(layout.total % kGranule, 0) << span;
    EXPECT_EQ(layout.begin % GuardedMemory::kAlignment, 0) << span;
    EXPECT_GE(layout.begin, GuardedMemory::kGuardBytes) << span;
    EXPECT_EQ(layout.begin + span + layout.after, layout.total) << span;
    EXPECT_GE(layout.after, 0) << span;
    EXPECT_LT(layout.after, GuardedMemory::kAlignment) << span;
    EXPECT_LT(layout.total, span + 2 * kGranule) << "no granule more than needed, " << span;
  }
}

TEST(GuardLayoutTest, ZonesLieOnBothSides) {
  const GuardLayout layout = ZonesLayout(1000);
  EXPECT_EQ(layout.begin, GuardedMemory::kGuardBytes);
  EXPECT_EQ(layout.after, GuardedMemory::kGuardBytes);
  EXPECT_GE(layout.total, layout.begin + 1000 + layout.after);
}

TEST(GuardedMemoryTest, StrictOnTheCpuIsZones) {
  GuardedMemory memory(Guard::kStrict);
  const at::Tensor tensor = memory.Allocate("out0", {7}, {1}, at::kFloat, at::kCPU);
  Bytes(tensor)[SpanBytes(tensor) + 1000] = 1;
  auto checked = memory.Check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "A kernel wrote 1 byte past the end of out0, 1000 bytes away from it.");
}

TEST(PoisonTest, FillsStridedAndOddSizedTensors) {
  const at::Tensor odd = at::zeros({13}, at::kByte).slice(0, 1, 12);
  FillPoison(odd);
  EXPECT_TRUE(odd.eq(255).all().item<bool>());
  const at::Tensor columns = at::zeros({3, 4}).t();
  FillPoison(columns);
  EXPECT_TRUE(at::isnan(columns).all().item<bool>());
  FillPoison(at::zeros({0}));
  FillPoison(at::Tensor());
}

}  // namespace
}  // namespace cudaagent::device
