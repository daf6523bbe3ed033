#include "propose/proposers.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "candidate/plan.h"
#include "fakes/scripted_llm.h"
#include "llm/openai.h"

namespace cudaagent::propose {
namespace {

using fakes::ScriptedLlm;
using ::testing::HasSubstr;

const std::string kFile =
    "/*cudaagent {\"plan\": 1, \"steps\": [{\"op\": \"aten::relu\", \"args\": [\"$x\"], \"out\": "
    "\"out0\"}]} */\n";

class ProposerTest : public ::testing::Test {
 protected:
  ProposerTest() {
    spec_.source = "the model's source";
    problem_.inputs = {TensorInfo{"x", {4, 8}, {8, 1}, "float32", 128, true}};
    problem_.outputs = {TensorInfo{"out0", {4, 8}, {8, 1}, "float32", 128, true}};
    problem_.graph_json =
        R"({"nodes":[{"name":"n0","op":"aten::relu","overload":"default","args":[{"ref":"x"}],
            "kwargs":{},"outputs":[{"name":"n0","shape":[4,8],"strides":[8,1],"dtype":"float32"}],
            "returns_list":false}],"outputs":["n0"]})";
  }

  Result<std::optional<Proposal>> Propose(Proposer& proposer) {
    return proposer.Propose(ProposalContext{spec_, problem_, history_, nullptr, device_});
  }

  std::unique_ptr<Proposer> Llm(const ScriptedLlm& server) {
    llm::LlmConfig config;
    config.model = "tiny";
    config.base_url = server.base_url();
    auto client = llm::MakeOpenAiClient(config);
    EXPECT_TRUE(client);
    return MakeLlmProposer(std::move(*client), *prompt::Templates::Load(""), {});
  }

  std::unique_ptr<Proposer> Command(const std::string& command, double timeout_s = 30) {
    CommandConfig config;
    config.command = command;
    config.timeout_s = timeout_s;
    config.max_answer_bytes = 1 << 20;
    return MakeCommandProposer(std::move(config), *prompt::Templates::Load(""), {});
  }

  ProblemSpec spec_;
  ProblemInfo problem_;
  std::vector<Attempt> history_;
  DeviceStamp device_;
};

TEST_F(ProposerTest, TheLlmIsAskedAndItsCandidateTaken) {
  setenv("OPENAI_API_KEY", "sk-proposer-0123456789", 1);
  ScriptedLlm server(ScriptedLlm::Answer(
      "Some thoughts.\n\nFuses all of it into\none pass.\n```cuda\n" + kFile + "```\n"));
  auto proposer = Llm(server);
  auto proposal = Propose(*proposer);
  ASSERT_TRUE(proposal && *proposal) << proposal.error().message;
  EXPECT_EQ((*proposal)->candidate.source, kFile);
  EXPECT_EQ((*proposal)->candidate.origin,
            "llm:" + server.base_url().substr(7, server.base_url().size() - 10) + "/tiny");
  EXPECT_EQ((*proposal)->candidate.note, "Fuses all of it into one pass.");
  EXPECT_EQ((*proposal)->prompt_tokens, 11);
  EXPECT_EQ((*proposal)->completion_tokens, 7);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1u);
  const auto& messages = requests[0]["body"]["messages"];
  EXPECT_EQ(messages[0]["role"], "system");
  EXPECT_THAT(messages[1]["content"].get<std::string>(), HasSubstr("the model's source"));
  EXPECT_EQ((*proposal)->prompt, messages[0]["content"].get<std::string>() + "\n" +
                                     messages[1]["content"].get<std::string>());
  EXPECT_EQ(requests[0]["body"].dump().find("sk-proposer"), std::string::npos)
      << "no key in a prompt";
}

TEST_F(ProposerTest, AnAnswerWithoutACandidateIsStillAProposal) {
  ScriptedLlm server({ScriptedLlm::Answer("I would rather not."),
                      ScriptedLlm::Answer("```cuda\n" + kFile, "length"),
                      ScriptedLlm::Answer(kFile + "__global__ void f() { // cut", "length")});
  auto proposer = Llm(server);
  for (const char* sentence :
       {"the file has no plan",
        "the code block with the plan is not closed, so the answer was cut off",
        "the code block with the plan is not closed, so the answer was cut off"}) {
    auto proposal = Propose(*proposer);
    ASSERT_TRUE(proposal && *proposal);
    auto parsed = candidate::ParseCandidate((*proposal)->candidate.source);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, HasSubstr(sentence));
  }
}

TEST_F(ProposerTest, ThreeRefusalsInARowEndTheRun) {
  auto refusal = ScriptedLlm::Answer(nullptr);
  refusal["body"]["choices"][0]["message"]["refusal"] = "Against my rules.";
  ScriptedLlm server(
      {refusal, refusal, ScriptedLlm::Answer("```\n" + kFile + "```"), refusal, refusal, refusal});
  auto proposer = Llm(server);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Propose(*proposer)) << i;
  auto last = Propose(*proposer);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, ErrorCode::kLlm);
  EXPECT_THAT(
      last.error().message,
      HasSubstr("refused to answer 3 times in a row: Against my rules. Try another model."));
}

TEST_F(ProposerTest, AnLlmThatFailsIsAnError) {
  ScriptedLlm server(nlohmann::json{{"status", 401}});
  auto proposal = Propose(*Llm(server));
  ASSERT_FALSE(proposal);
  EXPECT_EQ(proposal.error().code, ErrorCode::kLlm);
}

TEST_F(ProposerTest, ACommandReadsThePromptAndAnswers) {
  setenv("PROPOSER_SAYS", "inherited", 1);
  auto proposal = Propose(*Command(
      "grep -q \"the model's source\" || exit 9; echo \"From $PROPOSER_SAYS words, $# left.\"; "
      "printf '```cuda\\n%s```\\n' '" +
      kFile + "'"));
  ASSERT_TRUE(proposal && *proposal) << proposal.error().message;
  EXPECT_EQ((*proposal)->candidate.source, kFile);
  EXPECT_EQ((*proposal)->candidate.origin, "command");
  EXPECT_EQ((*proposal)->candidate.note, "From inherited words, 0 left.");
  EXPECT_THAT((*proposal)->prompt, HasSubstr("the model's source"));
}

TEST_F(ProposerTest, ACommandThatIgnoresItsInputIsFine) {
  auto proposal = Propose(*Command("printf '%s' '" + kFile + "'"));
  ASSERT_TRUE(proposal && *proposal) << proposal.error().message;
  EXPECT_EQ((*proposal)->candidate.source, kFile);
}

TEST_F(ProposerTest, ACommandWithNothingToSayEndsTheLoop) {
  auto proposal = Propose(*Command("cat >/dev/null"));
  ASSERT_TRUE(proposal);
  EXPECT_FALSE(*proposal);
}

TEST_F(ProposerTest, ACommandThatFailsSaysWhy) {
  auto proposal = Propose(*Command("echo out; echo 'no credits left' >&2; exit 3"));
  ASSERT_FALSE(proposal);
  EXPECT_EQ(proposal.error().code, ErrorCode::kLlm);
  EXPECT_EQ(
      proposal.error().message,
      "The proposer command \"echo out; echo 'no credits left' >&2; exit 3\" exited with status "
      "3. The end of its stderr:\nno credits left\n");
  EXPECT_THAT(Propose(*Command("/nonexistent/program")).error().message, HasSubstr("status 127"));
  EXPECT_THAT(Propose(*Command("kill -9 $$")).error().message, HasSubstr("signal 9"));
}

TEST_F(ProposerTest, ACommandIsBoundedInTimeAndOutput) {
  const auto start = std::chrono::steady_clock::now();
  auto proposal = Propose(*Command("sleep 60 & sleep 60", 0.3));
  ASSERT_FALSE(proposal);
  EXPECT_THAT(proposal.error().message, HasSubstr("did not end within 300 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_THAT(Propose(*Command("cat /dev/zero")).error().message,
              HasSubstr("answered more than 1 MiB"));
  EXPECT_THAT(Propose(*Command("head -c 2000000 /dev/zero")).error().message,
              HasSubstr("answered more than 1 MiB"));
}

TEST_F(ProposerTest, TheBuiltinProposesEachOptionOnceThenNothing) {
  auto proposer = MakeBuiltinProposer();
  int count = 0;
  for (;; ++count) {
    ASSERT_LT(count, 100);
    auto proposal = Propose(*proposer);
    ASSERT_TRUE(proposal) << proposal.error().message;
    if (!*proposal) break;
    auto parsed = candidate::ParseCandidate((*proposal)->candidate.source);
    EXPECT_TRUE(parsed) << parsed.error().message << "\n" << (*proposal)->candidate.source;
    EXPECT_FALSE((*proposal)->candidate.note.empty());
    for (const Attempt& each : history_) {
      EXPECT_NE(each.candidate.source, (*proposal)->candidate.source);
    }
    Attempt attempt;
    attempt.number = count;
    attempt.candidate = (*proposal)->candidate;
    history_.push_back(attempt);
  }
  EXPECT_GT(count, 0);
  auto again = Propose(*MakeBuiltinProposer());
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again) << "what the history holds is not proposed again";
}

TEST_F(ProposerTest, TheBuiltinHasNothingToSayWithoutAGraph) {
  problem_.graph_json = "";
  problem_.export_error = "dynamic control flow";
  auto proposal = Propose(*MakeBuiltinProposer());
  ASSERT_TRUE(proposal);
  EXPECT_FALSE(*proposal);
}

}  // namespace
}  // namespace cudaagent::propose
