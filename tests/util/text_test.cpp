#include "util/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace cudaagent::util {
namespace {

using ::testing::ElementsAre;

TEST(TextTest, TrimsSplitsAndJoins) {
  EXPECT_EQ(Trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_EQ(Join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_TRUE(StartsWith("abc", "ab"));
  EXPECT_FALSE(StartsWith("a", "ab"));
  EXPECT_TRUE(EndsWith("abc", "bc"));
  EXPECT_FALSE(EndsWith("c", "bc"));
}

TEST(TextTest, SuggestsTheNearestNameAndNoFarOne) {
  const std::vector<std::string> known = {"compile", "eager", "shared_bytes", "x"};
  EXPECT_EQ(NearestName("complie", known), "compile");
  EXPECT_EQ(NearestName("Eager", known), "eager");
  EXPECT_EQ(NearestName("shared_byte", known), "shared_bytes");
  EXPECT_EQ(NearestName("grid", known), std::nullopt);
  EXPECT_EQ(NearestName("", known), std::nullopt);
  EXPECT_EQ(NearestName("y", known), std::nullopt);
  EXPECT_EQ(NearestName(std::string(100'000, 'a'), known), std::nullopt);
  EXPECT_EQ(DidYouMean("eagre", known), " Did you mean \"eager\"?");
  EXPECT_EQ(DidYouMean("nothing", known), "");
}

TEST(TextTest, InvalidUtf8BecomesTheReplacementCharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(SanitiseUtf8("plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(SanitiseUtf8("a\xFF"
                         "b"),
            "a" + bad + "b");
  EXPECT_EQ(SanitiseUtf8("\xC3"), bad);                                // cut off
  EXPECT_EQ(SanitiseUtf8("\xC0\xAF"), bad + bad);                      // overlong
  EXPECT_EQ(SanitiseUtf8("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(SanitiseUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // above U+10FFFF
}

TEST(TextTest, LogsLoseEscapesAndControlCharacters) {
  EXPECT_EQ(SanitiseLog("a\x1b[31;1mred\x1b[0m\r\nb\tc"), "ared\nb\tc");
  EXPECT_EQ(SanitiseLog("\x1b]0;title\x07text"), "text");
  EXPECT_EQ(SanitiseLog("\x1b]8;;http://x\x1b\\link"), "link");
  EXPECT_EQ(SanitiseLog(std::string("a\0b\x7f", 4)), "ab");
  EXPECT_EQ(SanitiseLog("\xC2\x9B"
                        "31m"),
            "31m");  // C1
  EXPECT_EQ(SanitiseLog("end\x1b"), "end");
  EXPECT_EQ(SanitiseLog("end\x1b["), "end");
  EXPECT_EQ(SanitiseLog("\x1b]never ends\nnext"), "\nnext");
}

TEST(TextTest, ALongLogKeepsItsHeadAndTail) {
  const std::string log = std::string(500, 'h') + std::string(10'000, 'm') + std::string(500, 't');
  const std::string shown = SanitiseLog(log, 1000);
  EXPECT_EQ(shown,
            std::string(500, 'h') + "\n[... 10000 bytes left out ...]\n" + std::string(500, 't'));
}

TEST(TextTest, ACapNeverCutsACharacter) {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "\xE2\x82\xAC";
  for (size_t cap = 100; cap < 110; ++cap) {
    const std::string shown = SanitiseLog(log, cap);
    EXPECT_EQ(SanitiseUtf8(shown), shown);
  }
}

TEST(TextTest, FormatsDurations) {
  EXPECT_EQ(FormatSeconds(0), "0 us");
  EXPECT_EQ(FormatSeconds(0.00085), "850 us");
  EXPECT_EQ(FormatSeconds(0.0123), "12.3 ms");
  EXPECT_EQ(FormatSeconds(0.9999), "1 s");
  EXPECT_EQ(FormatSeconds(4.25), "4.2 s");
  EXPECT_EQ(FormatSeconds(60), "1 min");
  EXPECT_EQ(FormatSeconds(200), "3 min 20 s");
  EXPECT_EQ(FormatSeconds(7500), "2 h 5 min");
  EXPECT_EQ(FormatSeconds(-2), "-2 s");
  EXPECT_EQ(FormatSeconds(NAN), "unknown time");
}

TEST(TextTest, FormatsBytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(6871947674), "6.4 GiB");
}

}  // namespace
}  // namespace cudaagent::util
