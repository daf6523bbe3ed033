#include "cli/duration.h"

#include <gtest/gtest.h>

namespace cudaagent::cli {
namespace {

TEST(DurationTest, UnitsAreSecondsMinutesAndHours) {
  EXPECT_EQ(*ParseDuration("90"), 90);
  EXPECT_EQ(*ParseDuration("90s"), 90);
  EXPECT_EQ(*ParseDuration("10m"), 600);
  EXPECT_EQ(*ParseDuration("1.5h"), 5400);
}

TEST(DurationTest, AnythingElseIsAUsageErrorThatSaysWhatToWrite) {
  for (const char* text : {"", "h", "-5", "10 m", "5d", "nan", "1e400", "10mm"}) {
    auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    EXPECT_NE(parsed.error().message.find("10m"), std::string::npos);
  }
}

}  // namespace
}  // namespace cudaagent::cli
