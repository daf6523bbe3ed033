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

std::vector<uint64_t> ThreeOf(const std::string& key) {
  const SeedScope scope(key);
  return Three();
}

TEST(SeedsTest, TheSameKeyGivesTheSameSeedsAndAnotherOthers) {
  const auto first = ThreeOf("7 candidate");
  EXPECT_NE(ThreeOf("7 other"), first);
  Three();  // what is drawn outside shifts nothing
  EXPECT_EQ(ThreeOf("7 candidate"), first);
  EXPECT_EQ(std::set<uint64_t>(first.begin(), first.end()).size(), 3u);
  for (uint64_t seed : first) EXPECT_LT(seed, uint64_t{1} << 63);
}

TEST(SeedsTest, WithoutAKeyAndOutsideAScopeNobodyCanForeseeThem) {
  EXPECT_NE(ThreeOf(""), ThreeOf(""));
  ThreeOf("7 candidate");
  const auto outside = Three();
  ThreeOf("7 candidate");
  EXPECT_NE(Three(), outside);
}

}  // namespace
}  // namespace cudaagent::verify
