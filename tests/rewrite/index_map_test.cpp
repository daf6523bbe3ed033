#include "rewrite/index_map.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace cudaagent::rewrite {
namespace {

using Shape = std::vector<int64_t>;

// The offset the terms give, computed as the generated code would.
int64_t Offset(const std::vector<IndexTerm>& terms, int64_t i) {
  int64_t offset = 0;
  for (const IndexTerm& term : terms) offset += i / term.div % term.mod * term.stride;
  return offset;
}

// The offset a broadcast operand has by definition: unravel, drop, ravel.
int64_t OffsetByDefinition(const Shape& space, const Shape& shape, const Shape& strides,
                           int64_t i) {
  int64_t offset = 0;
  for (size_t d = space.size(); d-- > 0;) {
    const int64_t coordinate = i % space[d];
    i /= space[d];
    if (d + shape.size() >= space.size()) {
      const size_t own = d + shape.size() - space.size();
      if (shape[own] != 1) offset += coordinate * strides[own];
    }
  }
  return offset;
}

struct Operand {
  Shape space, shape, strides;
};

TEST(IndexMapTest, GivesEveryBroadcastOperandTheOffsetOfItsDefinition) {
  const std::vector<Operand> operands = {{{4, 6}, {4, 6}, {6, 1}},              // itself
                                         {{4, 6}, {6}, {1}},                    // a bias
                                         {{4, 6}, {4, 1}, {1, 1}},              // one per row
                                         {{4, 6}, {1, 1}, {1, 1}},              // one element
                                         {{4, 6}, {}, {}},                      // a scalar tensor
                                         {{4, 6}, {4, 6}, {1, 4}},              // transposed
                                         {{2, 3, 4, 5}, {3, 1, 1}, {1, 1, 1}},  // per channel
                                         {{2, 3, 4, 5}, {2, 1, 4, 5}, {20, 20, 5, 1}},
                                         {{2, 3, 4, 5}, {3, 4, 1}, {4, 1, 1}},
                                         {{2, 3, 4, 5}, {2, 3, 4, 5}, {0, 0, 5, 1}},  // expanded
                                         {{1, 3, 1, 5}, {3, 1, 5}, {5, 5, 1}}};
  for (const Operand& operand : operands) {
    auto at = BroadcastCoordinates(LinearCoordinates(operand.space, 1), operand.shape);
    ASSERT_TRUE(at);
    const auto terms = OffsetTerms(*at, operand.strides);
    int64_t numel = 1;
    for (int64_t extent : operand.space) numel *= extent;
    for (int64_t i = 0; i < numel; ++i) {
      ASSERT_EQ(Offset(terms, i),
                OffsetByDefinition(operand.space, operand.shape, operand.strides, i));
    }
  }
}

TEST(IndexMapTest, RefusesWhatDoesNotBroadcast) {
  EXPECT_FALSE(BroadcastCoordinates(LinearCoordinates({4, 6}, 1), {4}));
  EXPECT_FALSE(BroadcastCoordinates(LinearCoordinates({6}, 1), {4, 6}));
}

TEST(IndexMapTest, WritesShortExpressions) {
  IndexNames flat;
  flat.space = 2 * 3 * 20;
  auto text = [&](const Shape& shape, const Shape& strides, const IndexNames& names) {
    return OffsetText(
        OffsetTerms(*BroadcastCoordinates(LinearCoordinates({2, 3, 4, 5}, 1), shape), strides),
        names);
  };
  EXPECT_EQ(text({2, 3, 4, 5}, {60, 20, 5, 1}, flat), "i");
  EXPECT_EQ(text({3, 1, 1}, {1, 1, 1}, flat), "i / 20 % 3");
  EXPECT_EQ(text({2, 1, 1, 1}, {1, 1, 1, 1}, flat), "i / 60");
  EXPECT_EQ(text({5}, {1}, flat), "i % 5");
  EXPECT_EQ(text({1}, {1}, flat), "0");
  IndexNames rows = flat;
  rows.row = "row";
  rows.column = "col";
  rows.row_length = 20;
  EXPECT_EQ(text({4, 5}, {5, 1}, rows), "col");
  EXPECT_EQ(text({5}, {1}, rows), "col % 5");
  EXPECT_EQ(text({3, 1, 1}, {1, 1, 1}, rows), "row % 3");
  EXPECT_EQ(text({2, 1, 1, 1}, {1, 1, 1, 1}, rows), "row / 3");
  EXPECT_EQ(text({2, 3, 4, 5}, {60, 20, 5, 1}, rows), "i");
}

TEST(IndexMapTest, KnowsTheGranularityOfAnOffset) {
  auto granularity = [](const Shape& shape, const Shape& strides) {
    return Granularity(
        OffsetTerms(*BroadcastCoordinates(LinearCoordinates({2, 3, 4, 5}, 1), shape), strides));
  };
  EXPECT_EQ(granularity({2, 3, 4, 5}, {60, 20, 5, 1}), 1);
  EXPECT_EQ(granularity({3, 1, 1}, {1, 1, 1}), 20);
  EXPECT_EQ(granularity({3, 4, 1}, {4, 1, 1}), 5);
  EXPECT_EQ(granularity({1}, {1}), 0);
}

TEST(IndexMapTest, FindsTheDivisorOfALinearIndex) {
  EXPECT_EQ(LinearDivisor(LinearCoordinates({2, 3}, 7)), 7);
  EXPECT_EQ(LinearDivisor(LinearCoordinates({1, 1}, 7)), 1);
  // One per channel of [2, 3, 20]: no prefix of the linear index.
  auto channel = BroadcastCoordinates(LinearCoordinates({2, 3, 20}, 1), {3, 1});
  EXPECT_EQ(LinearDivisor(*channel), 20);
  auto outer_and_inner = BroadcastCoordinates(LinearCoordinates({2, 3, 20}, 1), {2, 1, 20});
  EXPECT_FALSE(LinearDivisor(*outer_and_inner));
}

}  // namespace
}  // namespace cudaagent::rewrite
