#include "prompt/prompt.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "candidate/validate.h"
#include "prompt/quote.h"
#include "util/file.h"

namespace cudaagent::prompt {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TensorInfo Tensor(std::string name, std::vector<int64_t> shape) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = std::move(shape);
  info.dtype = "float32";
  info.bytes = info.numel() * 4;
  info.strides.resize(info.shape.size());
  int64_t stride = 1;
  for (size_t i = info.shape.size(); i-- > 0; stride *= info.shape[i]) info.strides[i] = stride;
  return info;
}

Attempt MakeAttempt(int number, Verdict verdict, std::string message, double ms) {
  Attempt attempt;
  attempt.number = number;
  attempt.candidate.origin = number == 0 ? "init" : "llm:tiny";
  attempt.candidate.source =
      "/*cudaagent {\"plan\": 1} */  // source of " + std::to_string(number) + "\n";
  attempt.evaluation.verdict = verdict;
  attempt.evaluation.message = std::move(message);
  if (verdict == Verdict::kOk) {
    attempt.evaluation.candidate = Timing{ms, ms * 0.99, ms * 1.01, 50, ms, 2, "cupti-graph"};
    attempt.evaluation.speedup_eager = Speedup{1 / ms, 0.99 / ms, 1.01 / ms};
  }
  attempt.feedback = "report of " + std::to_string(number);
  return attempt;
}

class PromptTest : public ::testing::Test {
 protected:
  PromptTest() {
    spec_.source = "class Model(nn.Module):\n    '''```not a fence```'''\n";
    spec_.consts = {{"batch_size", "64"}};
    problem_.inputs = {Tensor("x", {64, 1024})};
    problem_.scalars = {{"s", "3.14"}};
    problem_.parameters = {Tensor("fc.weight", {512, 1024}), Tensor("fc.bias", {512})};
    problem_.outputs = {Tensor("out0", {64, 512})};
    problem_.parameters[0].contiguous = false;
    problem_.parameters[0].strides = {1, 512};
    problem_.graph_json =
        R"({"nodes":[{"name":"n0","op":"aten::linear","overload":"default",
            "args":[{"ref":"x"},{"ref":"fc.weight"},{"ref":"fc.bias"}],"kwargs":{},
            "outputs":[{"name":"n0","shape":[64,512],"strides":[512,1],"dtype":"float32"}],
            "returns_list":false}],"outputs":["n0"]})";
    device_.kind = "gpu";
    device_.name = "NVIDIA H200";
    device_.arch = "sm_90a";
    device_.cuda_version = "13.0";
  }

  Prompt Build(PromptOptions options = {}, const std::string& folder = "") {
    auto templates = Templates::Load(folder);
    EXPECT_TRUE(templates) << templates.error().message;
    const Attempt* best = nullptr;
    for (const Attempt& each : history_) {
      if (each.evaluation.verdict == Verdict::kOk) best = &each;
    }
    const ProposalContext context{spec_, problem_, history_, best, device_};
    auto prompt = BuildPrompt(*templates, context, options);
    EXPECT_TRUE(prompt) << prompt.error().message;
    return prompt.value_or(Prompt{});
  }

  ProblemSpec spec_;
  ProblemInfo problem_;
  std::vector<Attempt> history_;
  DeviceStamp device_;
};

// CUDAAGENT_UPDATE_GOLDEN=1 writes the file anew.
void ExpectGolden(const std::string& text, const std::string& name) {
  const std::string path = CUDAAGENT_SOURCE_DIR "/tests/prompt/golden/" + name;
  if (std::getenv("CUDAAGENT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str());
}

TEST_F(PromptTest, TellsTheModelEverythingAboutTheProblemAndItsHistory) {
  history_ = {MakeAttempt(0, Verdict::kOk, "ok", 0.2),
              MakeAttempt(1, Verdict::kWrongResult, "wrong in 3\nelements", 0),
              MakeAttempt(2, Verdict::kOk, "ok", 0.1),
              MakeAttempt(3, Verdict::kCompileFailed, "does not compile", 0)};
  history_[2].candidate.note = "float4 loads";
  ExpectGolden(Build().user, "user.md");
}

TEST_F(PromptTest, TheFirstPromptHasNoHistory) {
  const std::string user = Build().user;
  EXPECT_THAT(user, HasSubstr("# Attempts so far\n\nNone yet.\n\nNo attempt is correct yet."));
  EXPECT_THAT(user, Not(HasSubstr("## The last attempt")));
}

TEST_F(PromptTest, ShowsTheFirstTheBestAndTheLatestOfALongHistory) {
  history_.push_back(MakeAttempt(0, Verdict::kOk, "ok", 0.2));
  for (int i = 1; i < 40; ++i) history_.push_back(MakeAttempt(i, Verdict::kWrongResult, "bad", 0));
  history_[7] = MakeAttempt(7, Verdict::kOk, "ok", 0.1);
  PromptOptions options;
  options.shown_attempts = 3;
  const std::string user = Build(options).user;
  for (int shown : {0, 7, 37, 38, 39}) {
    EXPECT_THAT(user, HasSubstr("\n- " + std::to_string(shown) + " ("));
  }
  EXPECT_THAT(user, Not(HasSubstr("\n- 36 (")));
  EXPECT_THAT(user, HasSubstr("(35 older ones are left out)"));
  EXPECT_THAT(user, HasSubstr("## The best so far: attempt 7"));
  EXPECT_THAT(user, HasSubstr("## The last attempt: number 39"));
}

TEST_F(PromptTest, TheSystemTextHoldsAValidExample) {
  const std::string system = Build().system;
  EXPECT_THAT(system, Not(HasSubstr("{{")));
  auto example = candidate::ExtractCandidate(system);
  ASSERT_TRUE(example) << example.error().message;
  auto parsed = candidate::ParseCandidate(*example);
  ASSERT_TRUE(parsed) << parsed.error().message;
  ProblemInfo problem;
  problem.inputs = {Tensor("x", {64, 256})};
  problem.parameters = {Tensor("fc.weight", {512, 256}), Tensor("fc.bias", {512})};
  problem.outputs = {Tensor("out0", {64, 512})};
  EXPECT_TRUE(candidate::ValidatePlan(*parsed, problem));
}

TEST_F(PromptTest, CapsWhatItQuotes) {
  spec_.source = std::string(300000, 'm');
  history_ = {MakeAttempt(0, Verdict::kOk, "ok", 0.2),
              MakeAttempt(1, Verdict::kBadCandidate, "no", 0)};
  history_[0].candidate.source = std::string(300000, 'b');
  history_[1].candidate.source = std::string(300000, 'l');
  history_[1].feedback = std::string(300000, 'f');
  history_[1].evaluation.message = std::string(300000, 'e');
  PromptOptions options;
  options.max_source_bytes = 10000;
  EXPECT_LT(Build(options).user.size(), 60000u);
}

TEST_F(PromptTest, SurvivesAProblemThatCouldNotBeExported) {
  problem_.graph_json = "";
  EXPECT_THAT(Build().user, HasSubstr("its work is not known"));
  problem_.graph_json = "{broken";
  EXPECT_THAT(Build().user, HasSubstr("work is not known"));
}

TEST_F(PromptTest, AFolderOverridesTemplates) {
  auto folder = util::TempDir::Create("prompts");
  ASSERT_TRUE(folder);
  std::ofstream(folder->path() + "/system.md") << "Be quick.";
  EXPECT_EQ(Build({}, folder->path()).system, "Be quick.");
  EXPECT_THAT(Build({}, folder->path()).user, HasSubstr("# The model"));
  EXPECT_NE(Templates::Load(folder->path())->Hash(), Templates::Load("")->Hash());
  EXPECT_EQ(Templates::Load("")->Hash().size(), 64u);
  auto missing = Templates::Load(folder->path() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUsage);
}

TEST(FillTest, ReplacesNamesOnceAndRefusesUnknownOnes) {
  EXPECT_EQ(*Fill("a {{x}} b {{y}}{{x}}", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2{{y}}");
  EXPECT_EQ(*Fill("plain } } { {", {}), "plain } } { {");
  EXPECT_EQ(Fill("{{z}}", {{"x", ""}, {"y", ""}}).error().message,
            "A prompt template names {{z}}, which does not exist; there are: x, y.");
  EXPECT_EQ(Fill("{{z", {}).error().message, "A prompt template has a \"{{\" without \"}}\".");
}

TEST(QuoteTest, TextCannotEndItsFence) {
  EXPECT_EQ(Fenced("a\n```\nb", "text", 100), "````text\na\n```\nb\n````");
  EXPECT_EQ(Fenced("`````", "", 100), "``````\n`````\n``````");
  EXPECT_EQ(OneLine("a\nb\tc\x1b[31md"), "a b cd");
  EXPECT_EQ(OneLine(std::string(1000, 'x'), 10), "xxxxxxxxxx...");
}

}  // namespace
}  // namespace cudaagent::prompt
