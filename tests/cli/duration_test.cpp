#include "cli/duration.h"

#include <gtest/gtest.h>

namespace cudaagent::cli {
namespace {

TEST(DurationTest, UnitsAreSecondsMinutesHoursAndDays) {
  EXPECT_EQ(*ParseDuration("90"), 90);
  EXPECT_EQ(*ParseDuration("90s"), 90);
  EXPECT_EQ(*ParseDuration("10m"), 600);
  EXPECT_EQ(*ParseDuration("1.5h"), 5400);
  EXPECT_EQ(*ParseDuration("30d"), 2592000);
}

TEST(DurationTest, AnythingElseIsAUsageErrorThatSaysWhatToWrite) {
  for (const char* text : {"", "h", "-5", "10 m", "5y", "nan", "1e400", "10mm"}) {
    auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    EXPECT_NE(parsed.error().message.find("10m"), std::string::npos);
  }
}

TEST(SizeTest, UnitsAreDecimalOrBinary) {
  EXPECT_EQ(*ParseSize("1048576"), 1048576);
  EXPECT_EQ(*ParseSize("500MB"), 500'000'000);
  EXPECT_EQ(*ParseSize("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(*ParseSize("0"), 0);
}

TEST(SizeTest, AnythingElseIsAUsageErrorThatSaysWhatToWrite) {
  for (const char* text : {"", "GiB", "-5", "2gib", "nan", "1e30", "9e9TiB", "5 MB"}) {
    auto parsed = ParseSize(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    EXPECT_NE(parsed.error().message.find("2GiB"), std::string::npos);
  }
}

}  // namespace
}  // namespace cudaagent::cli
