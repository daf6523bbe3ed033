#include <gtest/gtest.h>

#include <set>

#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

std::vector<uint64_t> Three() {
  std::vector<uint64_t> seeds;
  for (int i = 0; i < 3; ++i) seeds.push_back(SecretSeed());
  return seeds;
}

TEST(SeedsTest, TheSameKeyGivesTheSameSeedsAndAnotherOthers) {
  UseSeedsOf("7 candidate");
  const auto first = Three();
  UseSeedsOf("7 other");
  const auto other = Three();
  UseSeedsOf("7 candidate");
  EXPECT_EQ(Three(), first);
  EXPECT_NE(other, first);
  EXPECT_EQ(std::set<uint64_t>(first.begin(), first.end()).size(), 3u);
  for (uint64_t seed : first) EXPECT_LT(seed, uint64_t{1} << 63);
  UseSeedsOf("");
}

TEST(SeedsTest, WithoutAKeyNobodyCanForeseeThem) {
  UseSeedsOf("");
  EXPECT_NE(Three(), Three());
}

}  // namespace
}  // namespace cudaagent::verify
