// The pieces the client is made of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "llm/chat_json.h"
#include "llm/endpoint.h"
#include "llm/retry.h"
#include "llm/secret.h"

namespace cudaagent::llm {
namespace {

TEST(SecretTest, LeavesNoTraceInTheEnvironment) {
  constexpr const char* kName = "CUDAAGENT_KEY_UNDER_TEST";
  constexpr const char* kValue = "sk-trace-0123456789";
  if (std::getenv(kName) == nullptr) {
    // Only what stood in the environment at the start of a process shows in /proc/PID/environ.
    char self[4096] = "";
    ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    const std::string command =
        std::string(kName) + "=" + kValue + " '" + self +
        "' --gtest_filter=SecretTest.LeavesNoTraceInTheEnvironment >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return;
  }
  auto shown = [] {
    std::stringstream text;
    text << std::ifstream("/proc/self/environ").rdbuf();
    return text.str();
  };
  ASSERT_NE(shown().find(kValue), std::string::npos);
  auto secret = TakeFromEnvironment(kName);
  ASSERT_TRUE(secret);
  EXPECT_EQ(secret->Reveal(), kValue);
  EXPECT_EQ(shown().find("trace"), std::string::npos);
  EXPECT_EQ(std::getenv(kName), nullptr);
  EXPECT_FALSE(TakeFromEnvironment(kName));
}

TEST(SecretTest, RedactsItselfAndItsKind) {
  const Secret secret(std::string("p@ss/w0rd-long"));
  EXPECT_EQ(secret.Redact("a p@ss/w0rd-long b p%40ss%2Fw0rd-long"), "a [redacted] b [redacted]");
  EXPECT_EQ(secret.Redact("sk-abcdefgh1234 and sk-ab****************wxyz."),
            "[redacted] and [redacted]");
  EXPECT_EQ(secret.Redact("task-switching is fine, so is sk-short"),
            "task-switching is fine, so is sk-short");
  EXPECT_EQ(secret.Redact("Authorization: Bearer abcdefgh12"), "Authorization: Bearer [redacted]");
  EXPECT_EQ(secret.Redact("the key ends in /w0rd-long, they say"),
            "the key ends in [redacted], they say");
  EXPECT_EQ(Secret(std::string("EMPTY")).Redact("EMPTY is a placeholder"),
            "EMPTY is a placeholder");
}

TEST(EndpointTest, KnowsLoopbackByAddressNotByLooks) {
  auto loopback = [](const std::string& host) {
    auto endpoint = ParseEndpoint("http://" + host + "/v1");
    return endpoint && endpoint->loopback;
  };
  EXPECT_TRUE(loopback("localhost"));
  EXPECT_TRUE(loopback("127.0.0.1:8000"));
  EXPECT_TRUE(loopback("127.1.2.3"));
  EXPECT_TRUE(loopback("[::1]:80"));
  EXPECT_FALSE(loopback("127.example.org"));
  EXPECT_FALSE(loopback("localhost.example.org"));
  EXPECT_FALSE(loopback("10.0.0.1"));
  EXPECT_FALSE(loopback("[fe80::1]"));
  EXPECT_TRUE(ParseEndpoint("https://api.openai.com/v1/")->is_default);
  EXPECT_FALSE(ParseEndpoint("http://api.openai.com/v1")->is_default) << "not unencrypted";
  EXPECT_FALSE(ParseEndpoint("https://api.openai.com:444/v1")->is_default);
  EXPECT_FALSE(ParseEndpoint("https://api.openai.com.example.org/v1")->is_default);
  EXPECT_EQ(ParseEndpoint("http://h:1/a/b//")->url, "http://h:1/a/b/chat/completions");
}

TEST(RetryTest, ReadsTheRequestedWait) {
  using Headers = std::map<std::string, std::string>;
  EXPECT_EQ(RequestedWait(Headers{}, 0), std::nullopt);
  EXPECT_EQ(RequestedWait(Headers{{"retry-after", "2.5"}}, 0), 2.5);
  EXPECT_EQ(RequestedWait(Headers{{"retry-after", "9"}, {"retry-after-ms", "250"}}, 0), 0.25);
  EXPECT_EQ(RequestedWait(Headers{{"retry-after", "Thu, 01 Jan 1970 00:01:40 GMT"}}, 40), 60.0);
  EXPECT_EQ(RequestedWait(Headers{{"retry-after", "Thu, 01 Jan 1970 00:00:10 GMT"}}, 40), 0.0);
  EXPECT_EQ(RequestedWait(Headers{{"retry-after", "soon"}}, 0), std::nullopt);
  EXPECT_EQ(RequestedWait(Headers{{"retry-after", "-1"}}, 0), std::nullopt);
}

TEST(RetryTest, BacksOffWithFullJitterUpToACap) {
  EXPECT_DOUBLE_EQ(BackoffSeconds(0, 1, 60, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(BackoffSeconds(3, 1, 60, 0.5), 4);
  EXPECT_DOUBLE_EQ(BackoffSeconds(1000, 1, 60, 0.5), 30);
  EXPECT_DOUBLE_EQ(BackoffSeconds(5, 1, 60, 0), 0);
}

TEST(ReasoningTest, IsKeptApartInEveryForm) {
  auto split = [](std::string content) {
    std::string reasoning;
    SplitReasoning(&content, &reasoning);
    return content + "|" + reasoning;
  };
  EXPECT_EQ(split(" plain "), " plain |");
  EXPECT_EQ(split("<think>a</think>\n\nb"), "b|a");
  EXPECT_EQ(split("a</think>b"), "b|a");
  EXPECT_EQ(split("<think>a"), "|a");
  EXPECT_EQ(split("x<think>a</think>y<think>b</think>z"), "xyz|ab");
}

TEST(ApiErrorTest, IsReadInEveryShape) {
  EXPECT_EQ(ParseApiError(R"({"error":{"message":"m","type":"t","param":"p","code":null}})")->code,
            "t");
  EXPECT_EQ(ParseApiError(R"({"error":{"message":"m","code":429}})")->status, 429);
  EXPECT_EQ(ParseApiError(R"([{"error":{"message":"gemini"}}])")->message, "gemini");
  EXPECT_EQ(ParseApiError(R"({"error":"ollama"})")->message, "ollama");
  EXPECT_EQ(ParseApiError(R"({"detail":"fastapi"})")->message, "fastapi");
  EXPECT_TRUE(ParseApiError(R"({"error":{"type":"insufficient_quota","code":"x"}})")->exhausted);
  EXPECT_TRUE(
      ParseApiError(R"({"error":{"details":{"error_code":"enforced_spend_limit_reached"}}})")
          ->exhausted);
  for (const char* nothing : {"", "[]", "{}", "x", R"({"error":null})", R"({"error":5})", "\xff"}) {
    EXPECT_FALSE(ParseApiError(nothing)) << nothing;
  }
}

TEST(ParseReplyTest, HostileBodiesAreNoAnswer) {
  for (const char* body : {"", "null", "[]", "{}", R"({"choices":[]})", R"({"choices":[5]})",
                           R"({"choices":[{"message":5}]})", R"({"choices":{"0":1}})"}) {
    EXPECT_FALSE(ParseReply(body)) << body;
  }
  EXPECT_FALSE(ParseReply(std::string(1 << 20, '[')));
  auto odd = ParseReply(
      R"({"choices":[{"message":{"content":5,"reasoning":{}},"finish_reason":7}],"usage":{"prompt_tokens":-1,"completion_tokens":1e300}})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->content, "");
  EXPECT_EQ(odd->prompt_tokens, 0);
  EXPECT_EQ(odd->completion_tokens, 0);
}

}  // namespace
}  // namespace cudaagent::llm
