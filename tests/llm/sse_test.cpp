#include "llm/sse.h"

#include <gmock/gmock.h>

namespace cudaagent::llm {
namespace {

using ::testing::ElementsAre;

// "type|data" of every event, the stream cut into pieces of `step` bytes.
std::vector<std::string> Parse(std::string_view stream, size_t step, size_t max_bytes = 1000) {
  SseParser parser(max_bytes);
  std::vector<std::string> all;
  auto keep = [&all](const std::vector<SseEvent>& events) {
    for (const SseEvent& event : events) all.push_back(event.type + "|" + event.data);
  };
  for (size_t at = 0; at < stream.size(); at += step) keep(parser.Feed(stream.substr(at, step)));
  keep(parser.Finish());
  if (parser.overflowed()) all.push_back("overflow");
  return all;
}

TEST(SseTest, ReadsTheSameEventsWhereverTheBytesAreCut) {
  const std::string stream =
      "\xEF\xBB\xBF: OPENROUTER PROCESSING\r\n"
      "\r\n"
      "data: {\"a\":\r\n"
      "data: 1}\r\n\r\n"
      "event: error\ndata:no space\nid: 7\nretry: 10\nunknown\n\n"
      "data:  two spaces\r\r"
      "event: nothing without data\n\n"
      "data\n\n"
      "data: \xC3\xA9\n\n"
      "data: [DONE]\n\n";
  for (size_t step = 1; step <= stream.size(); ++step) {
    EXPECT_THAT(Parse(stream, step), ElementsAre("|{\"a\":\n1}", "error|no space", "| two spaces",
                                                 "|", "|\xC3\xA9", "|[DONE]"))
        << "in pieces of " << step;
  }
}

TEST(SseTest, AStreamThatEndsWithoutABlankLineGivesItsLastEvent) {
  EXPECT_THAT(Parse("data: a\n\ndata: [DONE]", 3), ElementsAre("|a", "|[DONE]"));
  EXPECT_THAT(Parse("data: a\n", 3), ElementsAre("|a"));
  EXPECT_THAT(Parse("", 3), ElementsAre());
}

TEST(SseTest, CapsLinesAndEvents) {
  const std::string line(2000, 'x');
  for (size_t step : {1u, 7u, 5000u}) {
    EXPECT_THAT(Parse("data: a\n\ndata: " + line, step), ElementsAre("|a", "overflow")) << step;
    EXPECT_THAT(Parse(line, step), ElementsAre("overflow")) << step;
  }
  std::string event = "data: a\n\n";
  for (int i = 0; i < 100; ++i) event += "data: twenty characters here\n";
  EXPECT_THAT(Parse(event + "\ndata: b\n\n", 10), ElementsAre("|a", "overflow"));
}

TEST(SseTest, SurvivesAnyBytes) {
  std::string bytes;
  uint32_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += "\r\n:dat a\x00\xff"[(state >> 24) % 10];
  }
  EXPECT_EQ(Parse(bytes, 1), Parse(bytes, 977));
}

}  // namespace
}  // namespace cudaagent::llm
