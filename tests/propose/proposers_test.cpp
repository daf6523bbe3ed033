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
    return proposer.Propose(
        ProposalContext{spec_, problem_, history_, nullptr, device_, tokens_left_});
  }

  std::unique_ptr<Proposer> Llm(const ScriptedLlm& server) {
    llm::LlmConfig config;
    config.model = "tiny";
    config.base_url = server.base_url();
    config.retry.base_s = 0.001;
    auto client = llm::MakeOpenAiClient(config);
    EXPECT_TRUE(client);
    LlmOptions options;
    options.max_output_tokens = 5000;
    return MakeLlmProposer(std::move(*client), options, *prompt::Templates::Load(""), {});
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
  std::optional<int64_t> tokens_left_;
};

nlohmann::json WithUsage(nlohmann::json answer, int prompt, int completion) {
  answer["body"]["usage"] = {{"prompt_tokens", prompt}, {"completion_tokens", completion}};
  return answer;
}

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
  EXPECT_EQ((*proposal)->finish_reason, "stop");
  EXPECT_EQ((*proposal)->prompt_hash, prompt::Templates::Load("")->Hash());
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
  ScriptedLlm server(
      {ScriptedLlm::Answer("I would rather not."), ScriptedLlm::Answer("```cuda\n" + kFile)});
  auto proposer = Llm(server);
  for (const char* sentence :
       {"the file has no plan", "the code block with the plan is not closed"}) {
    auto proposal = Propose(*proposer);
    ASSERT_TRUE(proposal && *proposal);
    auto parsed = candidate::ParseCandidate((*proposal)->candidate.source);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, HasSubstr(sentence));
    EXPECT_FALSE((*proposal)->candidate.fault);
  }
}

TEST_F(ProposerTest, AnAnswerThatWasCutOffIsContinued) {
  const std::string file = kFile + "__global__ void f() {}\n";
  const std::string whole = "Faster.\n```cuda\n" + file + "```\n";
  const size_t cut = whole.size() / 2;
  ScriptedLlm server({WithUsage(ScriptedLlm::Answer(whole.substr(0, cut), "length"), 100, 10),
                      WithUsage(ScriptedLlm::Answer(whole.substr(cut)), 110, 20)});
  auto proposal = Propose(*Llm(server));
  ASSERT_TRUE(proposal && *proposal) << proposal.error().message;
  EXPECT_EQ((*proposal)->candidate.source, file);
  EXPECT_EQ((*proposal)->finish_reason, "stop");
  EXPECT_EQ((*proposal)->answer, whole);
  EXPECT_EQ((*proposal)->prompt_tokens, 210);
  EXPECT_EQ((*proposal)->completion_tokens, 30);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  const auto& messages = requests[1]["body"]["messages"];
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[2]["role"], "assistant");
  EXPECT_EQ(messages[2]["content"], whole.substr(0, cut));
  EXPECT_THAT(messages[3]["content"].get<std::string>(), HasSubstr("Continue it from the very"));
}

TEST_F(ProposerTest, AContinuationThatBeginsAnewReplacesTheFirstPart) {
  const std::string file = kFile + "__global__ void f() {}\n";
  const std::string begun = "```cuda\n" + kFile + "__glo";
  ScriptedLlm server({ScriptedLlm::Answer(begun, "length"),
                      ScriptedLlm::Answer("Again:\n```cuda\n" + file + "```\n"),
                      ScriptedLlm::Answer(begun, "length"),
                      ScriptedLlm::Answer("```cuda\nbal__ void f() {}\n```\n")});
  auto proposer = Llm(server);
  for (int i = 0; i < 2; ++i) {
    auto proposal = Propose(*proposer);
    ASSERT_TRUE(proposal && *proposal);
    EXPECT_EQ((*proposal)->candidate.source, file) << i;
  }
}

TEST_F(ProposerTest, HalfAFileIsNeverACandidate) {
  const std::string half = kFile + "__global__ void f() { // cut";
  for (const std::string& answer : {"```cuda\n" + half, half}) {
    ScriptedLlm server({ScriptedLlm::Answer(answer, "length"),
                        ScriptedLlm::Answer(" and on", "length"),
                        ScriptedLlm::Answer("unreached")});
    auto proposal = Propose(*Llm(server));
    ASSERT_TRUE(proposal && *proposal);
    ASSERT_TRUE((*proposal)->candidate.fault);
    EXPECT_EQ((*proposal)->candidate.fault->verdict, Verdict::kBadCandidate);
    EXPECT_THAT((*proposal)->candidate.fault->message, HasSubstr("ended at its output limit"));
    EXPECT_EQ(server.requests().size(), 2u);
  }
  // What was cut off after the file was whole does no harm.
  ScriptedLlm server(ScriptedLlm::Answer("```cuda\n" + kFile + "```\nThis is beca", "length"));
  auto proposal = Propose(*Llm(server));
  ASSERT_TRUE(proposal && *proposal);
  EXPECT_EQ((*proposal)->candidate.source, kFile);
  EXPECT_FALSE((*proposal)->candidate.fault);
}

TEST_F(ProposerTest, ReasoningThatUsesUpTheLimitGetsTwiceAsMuchOnce) {
  auto thought = ScriptedLlm::Answer(nullptr, "length");
  thought["body"]["choices"][0]["message"]["reasoning"] = "hmm ```cuda\n" + kFile + "```";
  ScriptedLlm server({thought, ScriptedLlm::Answer("```cuda\n" + kFile + "```"), thought, thought});
  auto proposer = Llm(server);
  auto proposal = Propose(*proposer);
  ASSERT_TRUE(proposal && *proposal);
  EXPECT_EQ((*proposal)->candidate.source, kFile);
  EXPECT_THAT((*proposal)->reasoning, HasSubstr("hmm"));
  EXPECT_THAT((*proposal)->answer, ::testing::Not(HasSubstr("hmm")));
  const auto requests = server.requests();
  EXPECT_EQ(requests[0]["body"]["max_completion_tokens"], 5000);
  EXPECT_EQ(requests[1]["body"]["max_completion_tokens"], 10000);
  EXPECT_EQ(requests[1]["body"]["messages"].size(), 2u);
  proposal = Propose(*proposer);
  ASSERT_TRUE(proposal && *proposal);
  EXPECT_TRUE((*proposal)->candidate.fault) << "code is never taken from reasoning";
}

TEST_F(ProposerTest, ARefusalIsAnOutcomeOfItsOwn) {
  auto refusal = ScriptedLlm::Answer(nullptr);
  refusal["body"]["choices"][0]["message"]["refusal"] = "Against my rules.";
  ScriptedLlm server(
      {refusal, ScriptedLlm::Answer("", "content_filter"), ScriptedLlm::Answer(kFile)});
  auto proposer = Llm(server);
  auto proposal = Propose(*proposer);
  ASSERT_TRUE(proposal && *proposal);
  EXPECT_EQ((*proposal)->finish_reason, "refusal");
  ASSERT_TRUE((*proposal)->candidate.fault);
  EXPECT_EQ((*proposal)->candidate.fault->message,
            "The model refused to answer (refusal): Against my rules.");
  proposal = Propose(*proposer);
  EXPECT_EQ((*proposal)->candidate.fault->message, "The model refused to answer (content_filter).");
  EXPECT_FALSE((*Propose(*proposer))->candidate.fault);
}

TEST_F(ProposerTest, TheTokenBudgetBindsBeforeACall) {
  ScriptedLlm server(
      {WithUsage(ScriptedLlm::Answer(kFile), 3000, 400), ScriptedLlm::Answer("unreached")});
  auto proposer = Llm(server);
  tokens_left_ = 200;
  auto proposal = Propose(*proposer);
  ASSERT_FALSE(proposal);
  EXPECT_EQ(proposal.error().code, ErrorCode::kUsage);
  EXPECT_THAT(proposal.error().message, HasSubstr("leaves no room for one question"));
  EXPECT_EQ(server.requests().size(), 0u);

  tokens_left_ = 6000;
  proposal = Propose(*proposer);
  ASSERT_TRUE(proposal && *proposal) << proposal.error().message;
  const int64_t cap = server.requests()[0]["body"]["max_completion_tokens"];
  EXPECT_LT(cap, 5000) << "an answer may not exceed what is left";
  EXPECT_GT(cap, 1000);

  Attempt attempt;
  attempt.usage = **proposal;
  EXPECT_EQ(attempt.usage.total_tokens(), 3400);
  history_.push_back(attempt);
  tokens_left_ = 6000 - 3400;
  proposal = Propose(*proposer);
  ASSERT_TRUE(proposal);
  EXPECT_FALSE(*proposal) << "3000 tokens of prompt do not fit any more";
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(ProposerTest, UsageThatIsNotToldIsEstimated) {
  auto silent = ScriptedLlm::Answer(kFile);
  silent["body"].erase("usage");
  ScriptedLlm server(silent);
  auto proposal = Propose(*Llm(server));
  ASSERT_TRUE(proposal && *proposal);
  EXPECT_NEAR((*proposal)->prompt_tokens, (*proposal)->prompt.size() / 4.0, 2);
  EXPECT_NEAR((*proposal)->completion_tokens, kFile.size() / 4.0, 2);
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

TEST_F(ProposerTest, TheBuiltinRulesComeBeforeAModel) {
  ScriptedLlm server({ScriptedLlm::Answer(kFile), ScriptedLlm::Answer(kFile)});
  auto proposer = MakeBuiltinFirst(Llm(server));
  EXPECT_THAT(proposer->name(), ::testing::StartsWith("llm:"));
  auto proposal = Propose(*proposer);
  ASSERT_TRUE(proposal && *proposal) << proposal.error().message;
  EXPECT_EQ((*proposal)->candidate.origin, "builtin");
  EXPECT_EQ(server.requests().size(), 0u);
  Attempt attempt;
  attempt.candidate = (*proposal)->candidate;
  history_.push_back(attempt);
  EXPECT_THAT((*Propose(*proposer))->candidate.origin, ::testing::StartsWith("llm:"));
  // A run that goes on with an old history does not ask the rules again.
  EXPECT_THAT((*Propose(*MakeBuiltinFirst(Llm(server))))->candidate.origin,
              ::testing::StartsWith("llm:"));
}

TEST_F(ProposerTest, WithoutAGraphTheModelIsAskedAtOnce) {
  problem_.graph_json = "";
  ScriptedLlm server(ScriptedLlm::Answer(kFile));
  EXPECT_THAT((*Propose(*MakeBuiltinFirst(Llm(server))))->candidate.origin,
              ::testing::StartsWith("llm:"));
}

TEST_F(ProposerTest, APromptCanBeShownWithoutAskingAnybody) {
  std::string shown;
  auto proposer =
      MakePromptShower([&shown](const prompt::Prompt& prompt) { shown = prompt.Text(); },
                       *prompt::Templates::Load(""), {});
  auto proposal = Propose(*proposer);
  ASSERT_TRUE(proposal);
  EXPECT_FALSE(*proposal);
  EXPECT_THAT(shown, HasSubstr("the model's source"));
}

TEST_F(ProposerTest, ACommandStopsWhenToldTo) {
  CommandConfig config;
  config.command = "sleep 60";
  config.stop_requested = [] { return true; };
  const auto start = std::chrono::steady_clock::now();
  auto proposal = Propose(*MakeCommandProposer(config, *prompt::Templates::Load(""), {}));
  ASSERT_FALSE(proposal);
  EXPECT_EQ(proposal.error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
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
