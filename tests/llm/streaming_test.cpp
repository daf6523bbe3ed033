// Streamed answers: the reader by itself, then the client against a scripted server.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "fakes/scripted_llm.h"
#include "llm/answer_reader.h"
#include "llm/openai.h"

namespace cudaagent::llm {
namespace {

using fakes::ScriptedLlm;
using nlohmann::json;
using ::testing::HasSubstr;

std::string Delta(const json& delta, const json& reason = nullptr) {
  return ScriptedLlm::Event({{"choices", {{{"delta", delta}, {"finish_reason", reason}}}}});
}

AnswerReader Read(const std::string& bytes, size_t step = 13, size_t max_bytes = 100000) {
  AnswerReader reader(max_bytes);
  for (size_t at = 0; at < bytes.size(); at += step) {
    if (!reader.Feed(std::string_view(bytes).substr(at, step))) break;
  }
  reader.Finish();
  return reader;
}

std::string Whole(const json& response) {
  std::string all;
  for (const json& piece : response["stream"]) all += piece.get<std::string>();
  return all;
}

TEST(AnswerReaderTest, PutsAStreamTogetherWhereverItIsCut) {
  const std::string text = "```cuda\n// \xC3\xA9\xE2\x82\xAC \"quoted\"\\n\n```";
  json usage = {{"prompt_tokens", 100},
                {"completion_tokens", 50},
                {"prompt_tokens_details", {{"cached_tokens", 64}}},
                {"completion_tokens_details", {{"reasoning_tokens", 30}}}};
  const std::string bytes =
      Delta({{"role", "assistant"}, {"content", nullptr}}) + Delta({{"content", text}}) +
      Delta(json::object(), "stop") +
      ScriptedLlm::Event({{"id", "c-1"}, {"choices", json::array()}, {"usage", usage}}) +
      "data: [DONE]\n\n";
  for (size_t step = 1; step < 40; ++step) {
    const AnswerReader reader = Read(bytes, step);
    ASSERT_TRUE(reader.reply) << reader.failure;
    EXPECT_EQ(reader.reply->content, text);
    EXPECT_EQ(reader.reply->finish_reason, "stop");
    EXPECT_EQ(reader.reply->prompt_tokens, 100);
    EXPECT_EQ(reader.reply->completion_tokens, 50);
    EXPECT_EQ(reader.reply->cached_tokens, 64);
    EXPECT_EQ(reader.reply->reasoning_tokens, 30);
    EXPECT_EQ(reader.reply->request_id, "c-1");
  }
}

TEST(AnswerReaderTest, AnAnswerWithAPieceThatIsNoJsonIsNoAnswer) {
  const std::string lone_surrogate =
      "data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\n\n";
  const AnswerReader reader = Read(Delta({{"content", "half "}}) + lone_surrogate +
                                   Delta({{"content", " whole"}}, "stop") + "data: [DONE]\n\n");
  EXPECT_FALSE(reader.reply);
  EXPECT_EQ(reader.failure, "sent a piece of its answer that is not JSON");
}

TEST(AnswerReaderTest, AServersOwnWordForTheEndIsNotKept) {
  const AnswerReader reader =
      Read(Delta({{"content", "x"}}, "Bearer sk-secret") + "data: [DONE]\n\n");
  ASSERT_TRUE(reader.reply) << reader.failure;
  EXPECT_EQ(reader.reply->finish_reason, "other");
}

TEST(AnswerReaderTest, KeepsReasoningApartUnderEveryName) {
  const std::string end = Delta(json::object(), "stop") + "data: [DONE]\n\n";
  for (const json& delta : std::vector<json>{
           {{"reasoning_content", "because"}},
           {{"reasoning", "because"}},
           {{"reasoning_details", {{{"type", "reasoning.text"}, {"text", "because"}}}}},
           {{"reasoning_content", "because"}, {"reasoning", "because"}},
           {{"content", "<think>because</think>"}}}) {
    const AnswerReader reader = Read(Delta(delta) + Delta({{"content", "code"}}) + end);
    ASSERT_TRUE(reader.reply) << delta;
    EXPECT_EQ(reader.reply->content, "code") << delta;
    EXPECT_EQ(reader.reply->reasoning, "because") << delta;
  }
  const AnswerReader split =
      Read(Delta({{"content", "<thi"}}) + Delta({{"content", "nk>why</thin"}}) +
           Delta({{"content", "k>code"}}) + end);
  EXPECT_EQ(split.reply->content, "code");
  EXPECT_EQ(split.reply->reasoning, "why");
}

TEST(AnswerReaderTest, ARefusalIsOne) {
  const AnswerReader reader = Read(Delta({{"refusal", "I will "}}) + Delta({{"refusal", "not."}}) +
                                   Delta(json::object(), "stop") + "data: [DONE]\n\n");
  ASSERT_TRUE(reader.reply);
  EXPECT_EQ(reader.reply->finish_reason, "refusal");
  EXPECT_EQ(reader.reply->refusal, "I will not.");
}

TEST(AnswerReaderTest, AnAnswerWithoutItsEndIsNone) {
  const std::string whole = Whole(ScriptedLlm::Streamed("an answer of some length"));
  const size_t end = whole.find("\"finish_reason\":\"stop\"");
  for (size_t cut = 0; cut < end; ++cut) {
    const AnswerReader reader = Read(whole.substr(0, cut));
    EXPECT_FALSE(reader.reply) << cut;
    EXPECT_FALSE(reader.error) << cut;
    EXPECT_TRUE(reader.transient);
    EXPECT_THAT(reader.failure, HasSubstr("answer")) << cut;
  }
  EXPECT_TRUE(Read(Delta({{"content", "x"}}, "stop")).reply) << "a reason to finish is an end";
  EXPECT_TRUE(Read(Delta({{"content", "x"}}) + "data: [DONE]").reply) << "and so is [DONE]";
  EXPECT_FALSE(Read("data: [DONE]\n\n").reply) << "which alone is no answer";
}

TEST(AnswerReaderTest, AnErrorInTheMiddleIsTheOutcome) {
  const std::string begun = Delta({{"content", "half"}});
  AnswerReader reader =
      Read(begun + ScriptedLlm::Event({{"error", {{"code", 502}, {"message", "upstream died"}}}}) +
           Delta({{"content", "more"}}, "stop"));
  ASSERT_TRUE(reader.error);
  EXPECT_FALSE(reader.reply);
  EXPECT_EQ(reader.error->message, "upstream died");
  EXPECT_EQ(reader.error->status, 502);
  EXPECT_EQ(Read(begun + "event: error\ndata: out of memory\n\n").error->message, "out of memory");
  EXPECT_EQ(
      Read(begun + R"(data: {"object":"error","message":"old","code":400})" + "\n\n").error->status,
      400);
}

TEST(AnswerReaderTest, IgnoresWhatServersAddToAStream) {
  const AnswerReader reader =
      Read(": keep-alive\n\n: keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" +
           ScriptedLlm::Event({{"choices", json::array()}, {"prompt_filter_results", {1}}}) +
           ScriptedLlm::Event({{"choices",
                                {{{"index", 1}, {"delta", {{"content", "another choice"}}}},
                                 {{"index", 0},
                                  {"delta", {{"content", "a"}, {"obfuscation", "zzz"}}},
                                  {"finish_reason", "stop"}}}},
                               {"timings", {{"n", 1}}},
                               {"error", nullptr}}) +
           "data: [DONE]\n\n");
  ASSERT_TRUE(reader.reply) << reader.failure;
  EXPECT_EQ(reader.reply->content, "a");
}

TEST(AnswerReaderTest, BoundsWhatItKeeps) {
  const std::string line =
      "data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(3000, 'x');
  AnswerReader reader = Read(line, 100, 1000);
  EXPECT_THAT(reader.failure, HasSubstr("larger than 1000 B"));
  EXPECT_FALSE(reader.transient);
  std::string many;
  for (int i = 0; i < 20; ++i) many += Delta({{"content", std::string(100, 'x')}});
  EXPECT_THAT(Read(many, 100, 1000).failure, HasSubstr("larger than 1000 B"));
}

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
  return (*client)->Chat({{"user", "hello"}}, 0);
}

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(StreamingTest, AStreamedAnswerIsRead) {
  unsetenv("OPENAI_API_KEY");
  ScriptedLlm server(ScriptedLlm::Streamed("an answer"));
  auto reply = Ask(Config(server));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "an answer");
  EXPECT_EQ(reply->total_tokens(), 18);
}

TEST(StreamingTest, PartsOfADroppedStreamAreNeverUsed) {
  json dropped = ScriptedLlm::CutShort(ScriptedLlm::Streamed("this half is lost"));
  json unfinished = dropped;  // ends in order, but without its end
  dropped["drop"] = "end";
  json failed = unfinished;
  failed["stream"].push_back(ScriptedLlm::Event({{"error", {{"message", "overloaded"}}}}));
  ScriptedLlm server({dropped, unfinished, failed, ScriptedLlm::Streamed("whole")});
  auto reply = Ask(Config(server));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "whole");
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST(StreamingTest, ADropAfterTheEndCostsNothing) {
  json dropped = ScriptedLlm::Streamed("whole");
  dropped["drop"] = "end";
  ScriptedLlm server(dropped);
  auto reply = Ask(Config(server));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "whole");
}

TEST(StreamingTest, AServerThatForgetsToCloseIsNotWaitedFor) {
  json lingering = ScriptedLlm::Streamed("whole");
  lingering["forever"] = true;
  ScriptedLlm server(lingering);
  const auto start = std::chrono::steady_clock::now();
  auto reply = Ask(Config(server));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_LT(Seconds(start), 5);
}

TEST(StreamingTest, ASlowStreamIsNoSilence) {
  json slow = ScriptedLlm::Streamed("abcdef");
  slow["pause"] = 0.3;  // ten pieces
  ScriptedLlm server(slow);
  LlmConfig config = Config(server);
  config.idle_timeout_s = 1.5;
  const auto start = std::chrono::steady_clock::now();
  auto reply = Ask(config);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_GT(Seconds(start), 2) << "longer than the idle timeout in all";
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(StreamingTest, AStreamThatFallsSilentIsAskedAgain) {
  json stuck = ScriptedLlm::Streamed("never seen");
  stuck["pause"] = 3;
  ScriptedLlm server({stuck, ScriptedLlm::Streamed("whole"), ScriptedLlm::Streamed("whole")});
  LlmConfig config = Config(server);
  config.idle_timeout_s = 1;
  auto reply = Ask(config);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "whole");
}

TEST(StreamingTest, KeepAlivesDoNotMakeARequestEndless) {
  json idle = {{"stream", {": hello\n\n"}}, {"forever", true}};
  ScriptedLlm server({idle, ScriptedLlm::Streamed("whole"), ScriptedLlm::Streamed("whole")});
  LlmConfig config = Config(server);
  config.total_timeout_s = 1;
  auto reply = Ask(config);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->content, "whole");
}

TEST(StreamingTest, AStopEndsAStreamAtOnce) {
  json idle = {{"stream", {": hello\n\n"}}, {"forever", true}};
  ScriptedLlm server(idle);
  LlmConfig config = Config(server);
  const auto start = std::chrono::steady_clock::now();
  config.stop_requested = [start] { return Seconds(start) > 0.5; };
  auto reply = Ask(config);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kCancelled);
  EXPECT_LT(Seconds(start), 3);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(StreamingTest, TheBreakerGivesUpInTime) {
  const json gone = json::array({{{"status", 503}}});  // for ever
  ScriptedLlm server(json::array({gone}));
  LlmConfig config = Config(server);
  config.retry.max_tries = 1000;
  config.retry.base_s = 0.2;
  config.retry.cap_s = 0.4;
  config.retry.give_up_s = 2;
  const auto start = std::chrono::steady_clock::now();
  auto reply = Ask(config);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kLlm);
  EXPECT_GT(Seconds(start), 0.8);
  EXPECT_LT(Seconds(start), 5);
  EXPECT_GT(server.requests().size(), 3u);
  EXPECT_THAT(reply.error().message, HasSubstr("; --llm-give-up is 2 s."));
}

}  // namespace
}  // namespace cudaagent::llm
