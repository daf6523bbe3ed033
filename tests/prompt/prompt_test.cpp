#include "prompt/prompt.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "candidate/op_allow_list.h"
#include "candidate/validate.h"
#include "prompt/feedback.h"
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
    const Attempt* best = best_ >= 0 ? &history_[best_] : nullptr;
    for (const Attempt& each : history_) {
      if (best_ < 0 && each.evaluation.verdict == Verdict::kOk) best = &each;
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
  int best_ = -1;  // index of the best attempt; below 0 = the last correct one
};

// CUDAAGENT_UPDATE_GOLDEN=1 writes the file anew.
void ExpectGolden(const std::string& text, const std::string& name) {
  const std::string path = CUDAAGENT_SOURCE_DIR "/tests/prompt/golden/" + name;
  if (std::getenv("CUDAAGENT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str());
}

// What a run has before it asks a model: the init baseline and the built-in rules' first candidate.
std::vector<Attempt> Beginning() {
  std::vector<Attempt> history = {MakeAttempt(0, Verdict::kOk, "Correct in 5 of 5 trials.", 0.2),
                                  MakeAttempt(1, Verdict::kOk, "Correct in 5 of 5 trials.", 0.15)};
  history[1].candidate.origin = "builtin";
  history[1].candidate.note = "1 of 1 operators in 1 kernel";
  for (Attempt& each : history) each.feedback = Feedback(each.evaluation);
  return history;
}

TEST_F(PromptTest, TheFirstQuestionIsGolden) {
  history_ = Beginning();
  ExpectGolden(Build().Text(), "first.md");
}

TEST_F(PromptTest, TheQuestionAfterAWrongResultIsGolden) {
  history_ = Beginning();
  Attempt wrong = MakeAttempt(2, Verdict::kWrongResult, "out0 differs from the reference.", 0);
  wrong.evaluation.check.trials = 5;
  wrong.evaluation.check.passed = 0;
  wrong.evaluation.check.mismatch =
      Mismatch{"out0", {32, 7}, 1.5, 0.25, 1.25, 5, 1024, 32768, "all rows after 32 are wrong"};
  wrong.feedback = Feedback(wrong.evaluation);
  history_.push_back(wrong);
  ExpectGolden(Build().Text(), "after_wrong_result.md");
}

TEST_F(PromptTest, TheQuestionAfterACompileFailureIsGolden) {
  history_ = Beginning();
  Attempt failed = MakeAttempt(2, Verdict::kCompileFailed, "NVRTC refused the code.", 0);
  failed.evaluation.compile.log =
      "candidate.cu(12): error: identifier \"foo\" is undefined\n    foo(1);\n    ^\n\n"
      "1 error detected in the compilation of \"candidate.cu\".\n";
  failed.feedback = Feedback(failed.evaluation);
  history_.push_back(failed);
  ExpectGolden(Build().Text(), "after_compile_failure.md");
}

TEST_F(PromptTest, TheQuestionAfterASlowSuccessIsGolden) {
  history_ = Beginning();
  Attempt slow = MakeAttempt(2, Verdict::kOk, "Correct in 5 of 5 trials.", 0.4);
  slow.candidate.note = "One block a row.";
  slow.evaluation.eager = Timing{0.3, 0.29, 0.31, 50, 0.3, 3, "cupti-graph"};
  slow.evaluation.speedup_eager = Speedup{0.75, 0.73, 0.77};
  slow.evaluation.compile.kernels = {{"rows<256>", 40, 128, 4096, 1024}};
  slow.evaluation.counters = {{"rows<256>", 1, 1000, 100, 3200, 12800, 50, 200, 0.5, 400}};
  slow.feedback = Feedback(slow.evaluation);
  history_.push_back(slow);
  best_ = 1;
  ExpectGolden(Build().Text(), "after_slow_success.md");
}

TEST_F(PromptTest, NamesExactlyTheOperatorsThatTheWorkerAllows) {
  const std::string system = Build().system;
  const size_t begin = system.find("These operators and no others");
  const size_t first = system.find("\n", system.find("result or buffer of yours:", begin)) + 1;
  std::stringstream listed(system.substr(first, system.find("  Refused besides", first) - first));
  std::vector<std::string> names;
  for (std::string name; listed >> name;) names.push_back("aten::" + name);
  EXPECT_EQ(names, candidate::AllowedOps());
  EXPECT_GT(names.size(), 200u);
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
  std::ofstream(folder->path() + "/system.md") << "Be quick.{{-example}}{{-ops}}";
  EXPECT_EQ(Build({}, folder->path()).system, "Be quick.");
  EXPECT_THAT(Build({}, folder->path()).user, HasSubstr("# The model"));
  EXPECT_NE(Templates::Load(folder->path())->Hash(), Templates::Load("")->Hash());
  EXPECT_EQ(Templates::Load("")->Hash().size(), 64u);
  std::ofstream(folder->path() + "/user.md") << "{{source}} and no more";
  auto incomplete = Templates::Load(folder->path());
  ASSERT_FALSE(incomplete);
  EXPECT_THAT(incomplete.error().message,
              HasSubstr(folder->path() + "/user.md: A prompt template does not use {{attempts}}"));
  auto missing = Templates::Load(folder->path() + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUsage);
}

TEST(FillTest, ReplacesNamesOnceAndRefusesUnknownOnes) {
  EXPECT_EQ(*Fill("a {{x}} b {{y}}{{x}}", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2{{y}}");
  EXPECT_EQ(*Fill("plain } } { {", {}), "plain } } { {");
  EXPECT_EQ(*Fill("a {{-x}}b", {{"x", "value"}}), "a b");
  EXPECT_EQ(Fill("{{x}}", {{"x", ""}, {"y", ""}}).error().message,
            "A prompt template does not use {{y}}. Put it in, or write {{-y}} to leave it out on "
            "purpose.");
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
