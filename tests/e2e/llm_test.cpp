// Whole runs on the CPU device against a scripted OpenAI-compatible server.
#include <signal.h>

#include <chrono>
#include <thread>

#include "e2e/workbench.h"
#include "fakes/scripted_llm.h"

namespace cudaagent::test {
namespace {

using fakes::ScriptedLlm;
using nlohmann::json;

class LlmTest : public Workbench {
 protected:
  static std::string Kernel(const std::string& name) {
    return *util::ReadFile(kFaulty + name + ".cu");
  }
  static std::string Fenced(const std::string& name) {
    return "Another " + name + " idea.\n```cuda\n" + Kernel(name) + "```\n";
  }
  std::vector<std::string> Optimize(std::vector<std::string> more) const {
    std::vector<std::string> words = {"optimize", kProblems + "scalar_times_matrix.py",
                                      "--const",  "rows=256",
                                      "--const",  "columns=1024",
                                      "--device", "cpu",
                                      "--out",    temp_.path() + "/run"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> Asking(const ScriptedLlm& server, std::vector<std::string> more) const {
    std::vector<std::string> words = Optimize({"--model", "tiny", "--base-url", server.base_url()});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  json Summary() const { return json::parse(*util::ReadFile(temp_.path() + "/run/summary.json")); }
  std::string Run(const std::string& file) const {
    auto text = util::ReadFile(temp_.path() + "/run/" + file);
    EXPECT_TRUE(text) << file;
    return text.value_or("");
  }
};

TEST_F(LlmTest, ARunSurvivesEveryTroubleAndEndsWithTheRightKernel) {
  json busy = {{"status", 429},
               {"headers", {{"retry-after", "1"}}},
               {"body", {{"error", {{"message", "slow down"}}}}}};
  json dropped = ScriptedLlm::CutShort(ScriptedLlm::Streamed(Fenced("crashing")));
  dropped["drop"] = "end";
  ScriptedLlm server(
      {busy, dropped, ScriptedLlm::Streamed("I would use vector loads, as one does."),
       ScriptedLlm::Streamed(Fenced("wrong")), ScriptedLlm::Streamed(Fenced("correct"))});
  environment_["OPENAI_API_KEY"] = "sk-e2e-0123456789abcdef";
  const Finished run = Call(Asking(server, {"--no-builtin", "--attempts", "3", "--json"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(server.requests().size(), 5u);
  EXPECT_TRUE(server.requests()[0]["body"]["stream"]);
  EXPECT_NE(run.err.find("slow down. Asking again in 1 s."), std::string::npos) << run.err;
  const json summary = json::parse(run.out);
  ASSERT_EQ(summary["attempts"].size(), 4u) << run.out;
  EXPECT_EQ(summary["attempts"][0]["origin"], "init");
  EXPECT_EQ(summary["attempts"][1]["verdict"], "bad_candidate");
  EXPECT_EQ(summary["attempts"][2]["verdict"], "wrong_result");
  EXPECT_EQ(summary["attempts"][3]["verdict"], "ok");
  EXPECT_EQ(summary["attempts"][3]["usage"]["prompt_tokens"], 11);
  EXPECT_EQ(summary["usage"]["completion_tokens"], 21);
  EXPECT_EQ(summary["best"]["attempt"], 3);
  EXPECT_EQ(Run("best/kernel.cu"), Kernel("correct"));
  // What went wrong is what the model was told next.
  const std::string second = server.requests()[3]["body"]["messages"][1]["content"];
  EXPECT_NE(second.find("bad_candidate"), std::string::npos);
  const std::string third = server.requests()[4]["body"]["messages"][1]["content"];
  EXPECT_NE(third.find("wrong_result"), std::string::npos);
  EXPECT_NE(third.find(Kernel("wrong")), std::string::npos);
  EXPECT_EQ(
      json::parse(Run("attempts/0003/evaluation.json"))["prompt_hash"].get<std::string>().size(),
      64u);
  EXPECT_NE(run.err.find("11+7 tokens"), std::string::npos) << run.err;
  for (const std::string& path : FilesWith("sk-e2e-0123456789abcdef"))
    ADD_FAILURE() << path << " holds the key";
}

TEST_F(LlmTest, TheBuiltinRulesKernelIsAttemptOneAndInThePrompt) {
  ScriptedLlm server(ScriptedLlm::Streamed(Fenced("correct")));
  const Finished run = Call(Asking(server, {"--attempts", "2"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json summary = Summary();
  ASSERT_EQ(summary["attempts"].size(), 3u);
  EXPECT_EQ(summary["attempts"][1]["origin"], "builtin");
  EXPECT_EQ(summary["attempts"][1]["verdict"], "ok");
  const std::string prompt = server.requests()[0]["body"]["messages"][1]["content"];
  EXPECT_NE(prompt.find("- 1 (builtin): ok"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find(Run("attempts/0001/kernel.cu")), std::string::npos);
}

TEST_F(LlmTest, AnEndpointGoneForGoodEndsTheRunInTimeWithNothingLost) {
  ScriptedLlm server(
      json::array({ScriptedLlm::Streamed(Fenced("correct")),
                   json::array({{{"status", 503}, {"body", "sk-not-yours-0123456789"}}})}));
  const auto start = std::chrono::steady_clock::now();
  const Finished run =
      Call(Asking(server, {"--no-builtin", "--attempts", "9", "--llm-give-up", "3s"}));
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(90));
  EXPECT_NE(run.err.find("answered 503. Gave up after"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("Nothing is lost: the 2 attempts so far are in " + temp_.path() +
                         "/run/attempts"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(Run("best/kernel.cu"), Kernel("correct"));
  EXPECT_NE(Run("attempts/0001/answer.md").find("Another correct idea."), std::string::npos);
  EXPECT_NE(Run("attempts/0001/prompt.md").find("scalar"), std::string::npos);
  const json summary = Summary();
  EXPECT_EQ(summary["attempts"].size(), 2u);
  EXPECT_EQ(summary["best"]["attempt"], 1);
  EXPECT_NE(summary["error"]["message"].get<std::string>().find("503"), std::string::npos);
  EXPECT_TRUE(FilesWith("sk-not-yours").empty());
}

TEST_F(LlmTest, CtrlCEndsAnAnswerThatDoesNotEnd) {
  ScriptedLlm server(json{{"stream", {": thinking\n\n"}}, {"forever", true}});
  RunningProgram driver(Words(Asking(server, {"--no-builtin"})), environment_);
  for (int i = 0; i < 1200 && server.requests().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSERT_EQ(server.requests().size(), 1u);
  const auto start = std::chrono::steady_clock::now();
  kill(driver.pid(), SIGINT);
  const Finished run = driver.Wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_EQ(Summary()["attempts"].size(), 1u);
}

TEST_F(LlmTest, ADryRunPrintsTheFirstPromptAndAsksNobody) {
  ScriptedLlm server(ScriptedLlm::Streamed("unreached"));
  environment_["OPENAI_API_KEY"] = "";
  const Finished run = Call(Asking(server, {"--dry-run"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(server.requests().empty());
  EXPECT_NE(run.out.find("You are an expert in CUDA performance."), std::string::npos);
  EXPECT_NE(run.out.find("- 1 (builtin): ok"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find(" tokens\n"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("the first prompt: " + std::to_string(run.out.size() - 1) + " characters"),
            std::string::npos)
      << run.err;
  EXPECT_FALSE(std::filesystem::exists(temp_.path() + "/run"));
}

TEST_F(LlmTest, ATokenBudgetEndsTheRun) {
  ScriptedLlm server(ScriptedLlm::Streamed(Fenced("correct"), "stop",
                                           {{"prompt_tokens", 5000}, {"completion_tokens", 900}}));
  const Finished run = Call(Asking(server, {"--no-builtin", "--max-tokens-total", "9000"}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_LE(server.requests()[0]["body"]["max_completion_tokens"], 9000);
  EXPECT_EQ(Summary()["stopped"], "token budget used up");
}

}  // namespace
}  // namespace cudaagent::test
