// The client against a scripted server on loopback.
#include "llm/openai.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "fakes/scripted_llm.h"

namespace cudaagent::llm {
namespace {

using fakes::ScriptedLlm;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-test-0123456789abcdef";

LlmConfig Config(const ScriptedLlm& server) {
  LlmConfig config;
  config.model = "tiny";
  config.base_url = server.base_url();
  config.retry.base_s = 0.001;
  config.idle_timeout_s = 20;
  return config;
}

Result<ChatReply> Ask(const LlmConfig& config) {
  auto client = MakeOpenAiClient(config);
  if (!client) return tl::unexpected(client.error());
  return (*client)->Chat({{"system", "be brief"}, {"user", "hello \xff"}}, 0);
}

json Error(int status, const std::string& code, const std::string& message,
           const json& param = nullptr) {
  return {{"status", status},
          {"body", {{"error", {{"message", message}, {"code", code}, {"param", param}}}}}};
}

class OpenAiClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OPENAI_API_KEY", "OTHER_KEY"}) unsetenv(name);
  }
};

TEST_F(OpenAiClientTest, SendsTheMessagesAndReadsTheAnswer) {
  ScriptedLlm server(ScriptedLlm::Answer("hi"));
  auto reply = Ask(Config(server));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "hi");
  EXPECT_EQ(reply->finish_reason, "stop");
  EXPECT_EQ(reply->prompt_tokens, 11);
  EXPECT_EQ(reply->completion_tokens, 7);
  EXPECT_EQ(reply->request_id, "chat-1");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0]["path"], "/v1/chat/completions");
  EXPECT_EQ(requests[0]["headers"]["content-type"], "application/json");
  EXPECT_FALSE(requests[0]["headers"].contains("authorization"));
  EXPECT_EQ(requests[0]["body"], json({{"model", "tiny"},
                                       {"max_completion_tokens", 32768},
                                       {"stream", true},
                                       {"stream_options", {{"include_usage", true}}},
                                       {"messages",
                                        {{{"role", "system"}, {"content", "be brief"}},
                                         {{"role", "user"}, {"content", "hello \xEF\xBF\xBD"}}}}}));
}

TEST_F(OpenAiClientTest, ReadsEveryShapeOfAnswer) {
  json reasoning = ScriptedLlm::Answer("code");
  reasoning["body"]["choices"][0]["message"]["reasoning_content"] = "hmm";
  json refusal = ScriptedLlm::Answer(nullptr);
  refusal["body"]["choices"][0]["message"]["refusal"] = "no";
  json padded = ScriptedLlm::Answer("padded");
  padded["body"] = "\n\n" + padded["body"].dump();
  json bare = {{"body", {{"choices", {{{"message", json::object()}, {"unknown", 1}}}}}}};
  json parts =
      ScriptedLlm::Answer({{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}});
  ScriptedLlm server({ScriptedLlm::Answer(nullptr, "content_filter"), reasoning, refusal, padded,
                      bare, parts, ScriptedLlm::Answer("half", "length"),
                      ScriptedLlm::Answer("<think>plan</think>\nanswer")});
  auto client = MakeOpenAiClient(Config(server));
  ASSERT_TRUE(client);
  auto ask = [&] { return *(*client)->Chat({{"user", "?"}}, 0); };
  ChatReply reply = ask();
  EXPECT_EQ(reply.content, "");
  EXPECT_EQ(reply.finish_reason, "content_filter");
  reply = ask();
  EXPECT_EQ(reply.content, "code");
  EXPECT_EQ(reply.reasoning, "hmm");
  reply = ask();
  EXPECT_EQ(reply.finish_reason, "refusal");
  EXPECT_EQ(reply.content, "no");
  EXPECT_EQ(ask().content, "padded");
  EXPECT_EQ(ask().content, "");
  EXPECT_EQ(ask().content, "ab");
  EXPECT_EQ(ask().finish_reason, "length");
  reply = ask();
  EXPECT_EQ(reply.content, "answer");
  EXPECT_EQ(reply.reasoning, "plan");
}

TEST_F(OpenAiClientTest, AsksAgainAfterPassingTroubles) {
  json script = json::array();
  for (int status : {408, 409, 429, 500, 503, 529}) script.push_back(Error(status, "busy", "wait"));
  script.push_back({{"drop", "before"}});
  json half = ScriptedLlm::Answer("half of it is lost");
  half["drop"] = "half";
  script.push_back(half);
  script.push_back({{"body", "<html>no json</html>"}});
  script.push_back({{"body", {{"error", {{"code", 502}, {"message", "upstream"}}}}}});
  script.push_back({{"status", 400}, {"headers", {{"x-should-retry", "true"}}}});
  script.push_back(ScriptedLlm::Answer("at last"));
  ScriptedLlm server(script);
  LlmConfig config = Config(server);
  auto reply = Ask(config);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "at last");
  EXPECT_EQ(server.requests().size(), script.size());
}

TEST_F(OpenAiClientTest, GivesUpAtOnceWhereAskingAgainCannotHelp) {
  for (int status : {400, 401, 402, 403, 404, 413, 422}) {
    ScriptedLlm server({Error(status, "bad", "this is wrong"), ScriptedLlm::Answer("unreached")});
    auto reply = Ask(Config(server));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, ErrorCode::kLlm);
    EXPECT_THAT(reply.error().message,
                HasSubstr("answered " + std::to_string(status) + " (bad): this is wrong."));
    EXPECT_EQ(server.requests().size(), 1u);
  }
  ScriptedLlm quota(
      {Error(429, "insufficient_quota", "pay first"), ScriptedLlm::Answer("unreached")});
  EXPECT_THAT(Ask(Config(quota)).error().message, HasSubstr("(insufficient_quota): pay first."));
  EXPECT_EQ(quota.requests().size(), 1u);
  json unwilling = Error(500, "oops", "no");
  unwilling["headers"] = {{"x-should-retry", "false"}};
  ScriptedLlm server({unwilling, ScriptedLlm::Answer("unreached")});
  EXPECT_FALSE(Ask(Config(server)));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(OpenAiClientTest, GivesUpAfterItsRetries) {
  json script = json::array();
  for (int i = 0; i < 5; ++i) script.push_back(Error(503, "overloaded", "busy"));
  ScriptedLlm server(script);
  LlmConfig config = Config(server);
  config.retry.max_tries = 3;
  auto reply = Ask(config);
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message,
              HasSubstr("503 (overloaded): busy. Gave up after 3 tries in "));
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(OpenAiClientTest, WaitsAsLongAsTheServerAsks) {
  json busy = Error(429, "rate", "slow down");
  busy["headers"] = {{"retry-after", "0.4"}};
  ScriptedLlm server({busy, ScriptedLlm::Answer("ok")});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Ask(Config(server)));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(400));

  busy["headers"] = {{"retry-after", "7200"}};
  ScriptedLlm closed({busy, ScriptedLlm::Answer("unreached")});
  EXPECT_THAT(Ask(Config(closed)).error().message,
              HasSubstr("Gave up after 1 try: it asks to wait 2 h; --llm-give-up is 5 min."));
}

TEST_F(OpenAiClientTest, TimesOutASilentServer) {
  json slow = ScriptedLlm::Answer("late");
  slow["delay"] = 5;
  // More than one, for a machine too busy to answer in time itself.
  const json quick = ScriptedLlm::Answer("quick");
  ScriptedLlm server({slow, quick, quick, quick, quick});
  LlmConfig config = Config(server);
  config.idle_timeout_s = 1;
  auto reply = Ask(config);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "quick");
}

TEST_F(OpenAiClientTest, StopsWhenAskedTo) {
  json busy = Error(429, "rate", "slow down");
  busy["headers"] = {{"retry-after", "60"}};
  ScriptedLlm server(busy);
  LlmConfig config = Config(server);
  int asked = 0;
  config.stop_requested = [&] { return ++asked > 3; };
  auto reply = Ask(config);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kCancelled);
}

TEST_F(OpenAiClientTest, LearnsWhichParametersTheServerTakes) {
  ScriptedLlm server({Error(400, "unsupported_parameter", "nope", "max_completion_tokens"),
                      Error(400, "", "Unsupported value: 'temperature' must be 1"),
                      Error(422, "", "unknown field max_tokens"),
                      Error(400, "", "Unrecognized request argument supplied: stream_options"),
                      Error(400, "", "'stream' is not supported"), ScriptedLlm::Answer("one"),
                      ScriptedLlm::Answer("two")});
  LlmConfig config = Config(server);
  config.temperature = 0.7;
  config.retry.max_tries = 1;
  auto client = MakeOpenAiClient(config);
  ASSERT_TRUE(client);
  for (const char* content : {"one", "two"}) {
    auto reply = (*client)->Chat({{"user", "?"}}, 0);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->content, content);
  }
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 7u);
  EXPECT_TRUE(requests[0]["body"].contains("max_completion_tokens"));
  EXPECT_TRUE(requests[1]["body"].contains("max_tokens"));
  EXPECT_TRUE(requests[1]["body"].contains("temperature"));
  EXPECT_FALSE(requests[2]["body"].contains("temperature"));
  EXPECT_TRUE(requests[3]["body"].contains("stream_options"));
  EXPECT_FALSE(requests[4]["body"].contains("stream_options"));
  EXPECT_EQ(requests[4]["body"]["stream"], true);
  for (size_t i : {5u, 6u}) {
    EXPECT_FALSE(requests[i]["body"].contains("stream"));
    EXPECT_FALSE(requests[i]["body"].contains("stream_options"));
    EXPECT_FALSE(requests[i]["body"].contains("max_tokens")) << "what was learnt is remembered";
    EXPECT_FALSE(requests[i]["body"].contains("temperature"));
  }
}

TEST_F(OpenAiClientTest, BoundsTheAnswer) {
  ScriptedLlm server({{{"body", "{"}, {"repeat", 3 << 20}}, ScriptedLlm::Answer("unreached")});
  LlmConfig config = Config(server);
  config.max_answer_bytes = 1 << 20;
  auto reply = Ask(config);
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("gave an answer that is larger than 1 MiB."));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(OpenAiClientTest, NeverFollowsARedirect) {
  ScriptedLlm other(ScriptedLlm::Answer("stolen"));
  ScriptedLlm server(
      json::array({{{"status", 307}, {"headers", {{"location", other.base_url()}}}}}));
  setenv("OPENAI_API_KEY", kKey, 1);
  auto reply = Ask(Config(server));
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("It redirects, and a key is never sent along"));
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(OpenAiClientTest, SendsTheKeyOnlyWhereItBelongs) {
  auto authorization = [](const ScriptedLlm& server) {
    const auto requests = server.requests();
    return requests.at(0)["headers"].value("authorization", "none");
  };
  {
    setenv("OPENAI_API_KEY", kKey, 1);
    ScriptedLlm server(ScriptedLlm::Answer("ok"));
    EXPECT_TRUE(Ask(Config(server)));
    EXPECT_EQ(authorization(server), std::string("Bearer ") + kKey) << "loopback";
    EXPECT_EQ(std::getenv("OPENAI_API_KEY"), nullptr) << "and the environment forgets it";
  }
  {
    // 0.0.0.0 reaches this machine, but is no loopback address by name.
    setenv("OPENAI_API_KEY", kKey, 1);
    ScriptedLlm server(ScriptedLlm::Answer("ok"));
    LlmConfig config = Config(server);
    config.base_url = server.base_url("0.0.0.0");
    EXPECT_TRUE(Ask(config));
    EXPECT_EQ(authorization(server), "none") << "another host gets no key by default";
    EXPECT_EQ(std::getenv("OPENAI_API_KEY"), nullptr);
  }
  {
    setenv("OPENAI_API_KEY", "sk-not-this-one-00000000", 1);
    setenv("OTHER_KEY", kKey, 1);
    ScriptedLlm server(ScriptedLlm::Answer("ok"));
    LlmConfig config = Config(server);
    config.base_url = server.base_url("0.0.0.0");
    config.api_key_env = "OTHER_KEY";
    EXPECT_TRUE(Ask(config));
    EXPECT_EQ(authorization(server), std::string("Bearer ") + kKey) << "the user named it";
  }
}

TEST_F(OpenAiClientTest, KeepsTheKeyOutOfErrors) {
  setenv("OPENAI_API_KEY", kKey, 1);
  ScriptedLlm server(Error(401, "invalid_api_key",
                           std::string("Incorrect API key provided: ") + kKey +
                               " or sk-other-key-12345678; sent 'Bearer abcdefghijkl'"));
  auto reply = Ask(Config(server));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message,
            "The LLM at " + server.base_url().substr(7, server.base_url().size() - 10) +
                " answered 401 (invalid_api_key): Incorrect API key provided: [redacted] or "
                "[redacted]; sent 'Bearer [redacted]'. Check OPENAI_API_KEY.");
}

TEST_F(OpenAiClientTest, RefusesConfigurationsThatCannotWork) {
  auto complaint = [](const std::string& url, const std::string& env = "",
                      const std::string& model = "m") {
    LlmConfig config;
    config.model = model;
    config.base_url = url;
    config.api_key_env = env;
    auto client = MakeOpenAiClient(config);
    if (client) return std::string("accepted ") + (*client)->name();
    EXPECT_EQ(client.error().code, ErrorCode::kUsage);
    return client.error().message;
  };
  EXPECT_THAT(
      complaint(kDefaultBaseUrl),
      HasSubstr("The environment variable OPENAI_API_KEY, which holds the LLM's key, is not set"));
  EXPECT_THAT(complaint("http://localhost:1/v1", "OTHER_KEY"), HasSubstr("OTHER_KEY"));
  EXPECT_THAT(complaint("http://localhost:1/v1", "", ""), HasSubstr("No model is named"));
  EXPECT_THAT(complaint("ftp://localhost/v1"), HasSubstr("is neither http nor https"));
  EXPECT_THAT(complaint("nonsense with spaces"), HasSubstr("is not a URL"));
  const std::string with_password = complaint("http://user:hunter22@localhost/v1");
  EXPECT_THAT(with_password, HasSubstr("holds a user name"));
  EXPECT_THAT(with_password, Not(HasSubstr("hunter22")));
  EXPECT_THAT(complaint("http://localhost/v1/chat/completions"), HasSubstr("already ends in"));
  EXPECT_THAT(complaint("http://localhost/v1?key=1"), HasSubstr("holds a query"));
  EXPECT_EQ(complaint("http://localhost:8000/v1/"), "accepted localhost:8000/m");
  setenv("OTHER_KEY", "sk with spaces", 1);
  EXPECT_THAT(complaint("http://localhost:1/v1", "OTHER_KEY"), HasSubstr("holds a space"));
  setenv("OPENAI_API_KEY", kKey, 1);
  EXPECT_EQ(complaint(kDefaultBaseUrl), "accepted openai/m");
}

TEST_F(OpenAiClientTest, SaysThatNobodyListens) {
  LlmConfig config;
  config.model = "m";
  config.base_url = "http://127.0.0.1:1/v1";
  config.retry.max_tries = 2;
  config.retry.base_s = 0.001;
  auto reply = Ask(config);
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("The LLM at 127.0.0.1:1 did not answer: "));
  EXPECT_THAT(reply.error().message, HasSubstr("Gave up after 2 tries in "));
}

}  // namespace
}  // namespace cudaagent::llm
