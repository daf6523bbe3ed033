#include "rewrite/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cudaagent::rewrite {
namespace {

using nlohmann::ordered_json;

TEST(JsonTextTest, KeepsWhatFitsOnOneLine) {
  EXPECT_EQ(PrettyJson(ordered_json::parse(R"({"op":"aten::relu","args":["$x",1.0]})")),
            R"({"op": "aten::relu", "args": ["$x", 1.0]})");
}

TEST(JsonTextTest, BreaksLongLinesAndReadsBackTheSame) {
  ordered_json plan = {{"plan", 1}, {"steps", ordered_json::array()}};
  for (int step = 0; step < 3; ++step) {
    ordered_json args = ordered_json::array();
    for (int arg = 0; arg < 30; ++arg) args.push_back("$argument_" + std::to_string(arg));
    plan["steps"].push_back({{"op", "aten::cat"}, {"args", {args, 1}}, {"out", "cat"}});
  }
  const std::string text = PrettyJson(plan);
  EXPECT_EQ(ordered_json::parse(text), plan);
  size_t start = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    EXPECT_LE(end - start, 100u) << text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(JsonTextTest, NeverEndsTheCommentItStandsIn) {
  const ordered_json value = {{"op", "a*/b"}};
  const std::string text = PrettyJson(value);
  EXPECT_EQ(text.find("*/"), std::string::npos);
  EXPECT_EQ(ordered_json::parse(text), value);
}

}  // namespace
}  // namespace cudaagent::rewrite
