#include "protocol/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "examples.h"
#include "protocol/evaluation_json.h"

namespace cudaagent::protocol {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<FromChild> EveryAnswer() {
  Hello hello;
  hello.program = "worker";
  hello.device = ExampleEvaluation().device;
  hello.nvrtc_version = "13.0";
  hello.python_version = "3.11.2";
  hello.pid = 42;
  return {hello,
          StageNote{"check"},
          ProblemReply{ExampleProblem()},
          EvaluationReply{ExampleEvaluation(), true},
          BaselineReply{true,
                        "fine",
                        ExampleTiming(),
                        {{"default", ExampleTiming()}},
                        {{"max-autotune", "no"}},
                        41.5},
          CalibrationReply{Ceilings{1, 2, 3, 4, 5, "2026-01-01T00:00:00Z"}},
          ErrorReply{{ErrorCode::kUsage, "line 3"}},
          CompileReply{
              7, true, Verdict::kOk, "m", ExampleCompile(), {{"f<2>", "_Z"}}, {{"f<2>", "f"}}}};
}

std::vector<ToWorker> EveryJob() {
  return {LoadProblem{ExampleSpec()},
          EvaluateJob{"src",
                      "/c",
                      "/p",
                      {{"f", "_Z"}},
                      {{"f", "f()"}},
                      ExampleOptions(),
                      false,
                      false,
                      "default"},
          BaselineJob{ExampleOptions(), {"default", "max-autotune"}}, CalibrateJob{}, Shutdown{}};
}

// Encoding what was decoded gives the same bytes, so no field is lost or changed.
TEST(MessagesTest, EveryMessageComesBackAsItWasSent) {
  for (const FromChild& message : EveryAnswer()) {
    const auto decoded = DecodeFromChild(Encode(message));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(Encode(*decoded), Encode(message));
  }
  for (const ToWorker& message : EveryJob()) {
    const auto decoded = DecodeToWorker(Encode(message));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(Encode(*decoded), Encode(message));
  }
  const ToCompiler compile =
      CompileJob{7, "src", "sm_90a", "c++20", true, 64, {"f<2>"}, 5, 1 << 20};
  EXPECT_EQ(Encode(DecodeToCompiler(Encode(compile)).value()), Encode(compile));
}

TEST(MessagesTest, NoFieldKeepsItsDefaultInTheExamples) {
  const auto decoded = DecodeToWorker(Encode(EveryJob()[1]));
  const EvalOptions& options = std::get<EvaluateJob>(*decoded).options;
  EXPECT_EQ(options.instruction_budget, 1ULL << 63);
  EXPECT_EQ(options.model_gpu, "a100");
  const auto spec = std::get<LoadProblem>(*DecodeToWorker(Encode(EveryJob()[0]))).spec;
  EXPECT_EQ(spec.precision, Precision::kTorchDefault);
  EXPECT_EQ(spec.mode, Mode::kTrain);
  EXPECT_EQ(spec.consts.at("dim"), "1024");
}

// Leaves out, then falsifies, every field of every message in turn.
TEST(MessagesTest, EveryRequiredFieldIsCheckedForPresenceAndType) {
  for (const FromChild& message : EveryAnswer()) {
    const json whole = json::parse(Encode(message));
    for (const auto& [key, value] : whole.items()) {
      json without = whole;
      without.erase(key);
      EXPECT_FALSE(DecodeFromChild(without.dump())) << whole["type"] << " without " << key;
      json wrong = whole;
      wrong[key] = json::array({1});
      EXPECT_FALSE(DecodeFromChild(wrong.dump())) << whole["type"] << " with a wrong " << key;
    }
  }
}

TEST(MessagesTest, EveryFieldOfAnEvaluationIsChecked) {
  const json whole = json::parse(Encode(FromChild(EvaluationReply{ExampleEvaluation(), false})));
  const json flat = whole["evaluation"].flatten();
  for (const auto& [pointer, value] : flat.items()) {
    json wrong = whole;
    wrong["evaluation"][json::json_pointer(pointer)] = json::object({{"a", json::array()}});
    EXPECT_FALSE(DecodeFromChild(wrong.dump())) << pointer;
  }
}

TEST(MessagesTest, AnEvaluationOfBeforeAFieldWasAddedIsRead) {
  json message = json::parse(Encode(FromChild(EvaluationReply{ExampleEvaluation(), false})));
  message["evaluation"].erase("baselines");
  message["evaluation"]["protocol"].erase("fresh_worker");
  const auto decoded = DecodeFromChild(message.dump());
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_FALSE(std::get<EvaluationReply>(*decoded).evaluation.protocol.fresh_worker);
}

TEST(MessagesTest, AnErrorNamesThePathOfTheField) {
  json message = json::parse(Encode(FromChild(EvaluationReply{ExampleEvaluation(), false})));
  message["evaluation"]["check"]["tiers"][0]["passed"] = "yes";
  EXPECT_EQ(DecodeFromChild(message.dump()).error().message,
            "Invalid JSON: evaluation.evaluation.check.tiers[0].passed must be true or false.");
}

TEST(MessagesTest, IntegersOutOfRangeAreRefused) {
  json message = json::parse(Encode(FromChild(EvaluationReply{ExampleEvaluation(), false})));
  message["evaluation"]["check"]["trials"] = 1LL << 40;
  EXPECT_FALSE(DecodeFromChild(message.dump()));
  message["evaluation"]["check"]["trials"] = 1.5;
  EXPECT_FALSE(DecodeFromChild(message.dump()));
  json job = json::parse(Encode(EveryJob()[2]));
  job["options"]["instruction_budget"] = -1;
  EXPECT_FALSE(DecodeToWorker(job.dump()));
}

TEST(MessagesTest, ATensorOfImpossibleSizeIsRefused) {
  for (const json& shape : {json{-1, 3, 1}, json{1LL << 32, 1LL << 32, 1}}) {
    json message = json::parse(Encode(FromChild(ProblemReply{ExampleProblem()})));
    message["problem"]["inputs"][0]["shape"] = shape;
    EXPECT_FALSE(DecodeFromChild(message.dump()));
  }
  json message = json::parse(Encode(FromChild(ProblemReply{ExampleProblem()})));
  message["problem"]["inputs"][0]["strides"] = {1};
  EXPECT_FALSE(DecodeFromChild(message.dump()));
}

TEST(MessagesTest, FiguresThatAreNoNumbersTravelAsWords) {
  Evaluation e = ExampleEvaluation();
  e.check.mismatch->got = std::nan("");
  e.check.max_abs_error = INFINITY;
  e.check.max_rel_error = -INFINITY;
  const auto decoded = DecodeFromChild(Encode(FromChild(EvaluationReply{e, false})));
  ASSERT_TRUE(decoded) << decoded.error().message;
  const CheckReport& check = std::get<EvaluationReply>(*decoded).evaluation.check;
  EXPECT_TRUE(std::isnan(check.mismatch->got));
  EXPECT_EQ(check.max_abs_error, INFINITY);
  EXPECT_EQ(check.max_rel_error, -INFINITY);
}

TEST(MessagesTest, AbsentFiguresAreLeftOut) {
  const json bare = ToJson(Evaluation{});
  for (const char* key :
       {"candidate", "eager", "compiled_baseline", "speedup_eager", "speedup_compile",
        "own_kernel_share", "extra_bytes", "prepare", "reward"}) {
    EXPECT_FALSE(bare.contains(key)) << key;
  }
  const json timed = ToJson(ExampleEvaluation());
  EXPECT_TRUE(timed["candidate"].contains("busy_ms"));
  EXPECT_FALSE(timed["eager"].contains("busy_ms"));
  EXPECT_FALSE(timed["eager"].contains("kernels"));
  EXPECT_EQ(EvaluationFromJson(bare)->reward, std::nullopt);
}

TEST(MessagesTest, EvaluationsOfOlderVersionsAreRead) {
  json old = ToJson(ExampleEvaluation());
  old["protocol"].erase("guard");
  old["compile"].erase("device_state");
  const auto read = EvaluationFromJson(old);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->protocol.guard, "");
  EXPECT_TRUE(read->compile.device_state.empty());
  EXPECT_EQ(read->protocol.note, "n");
}

TEST(MessagesTest, AGuardThatIsNoneIsRefused) {
  json job = json::parse(Encode(EveryJob()[2]));
  job["options"]["guard"] = "none";
  EXPECT_FALSE(DecodeToWorker(job.dump()));
}

TEST(MessagesTest, InvalidUtf8IsReplacedNotSent) {
  const std::string text = Encode(FromChild(ErrorReply{{ErrorCode::kInternal, "a\xFFz"}}));
  const auto decoded = DecodeFromChild(text);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<ErrorReply>(*decoded).error.message, "a\xEF\xBF\xBDz");
}

TEST(MessagesTest, HostileTextIsAnErrorAndNothingWorse) {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{}"),
        std::string("{\"type\":1}"), std::string("{\"type\":\"hello\"}"), std::string("\0\0", 2),
        std::string("{\"type\":\"launch_missiles\"}"), std::string(3'000'000, '['),
        std::string("{\"type\":\"hello\",\"device\":") + std::string(3'000'000, '[') +
            std::string(3'000'000, ']') + "}"}) {
    EXPECT_FALSE(DecodeFromChild(text));
    EXPECT_FALSE(DecodeToWorker(text));
    EXPECT_FALSE(DecodeToCompiler(text));
  }
  EXPECT_THAT(DecodeFromChild("{\"type\":\"launch\"}").error().message,
              HasSubstr("unknown type \"launch\""));
}

TEST(MessagesTest, BracketsInsideTextAreNoDepth) {
  const std::string text(1000, '[');
  for (const std::string& message : {text, "\"" + text, "\\" + text, text + "\\\""}) {
    const auto decoded =
        DecodeFromChild(Encode(FromChild(ErrorReply{{ErrorCode::kUsage, message}})));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(std::get<ErrorReply>(*decoded).error.message, message);
  }
}

TEST(MessagesTest, AMessageForTheOtherSideIsUnknown) {
  EXPECT_FALSE(DecodeFromChild(Encode(ToWorker(Shutdown{}))));
  EXPECT_FALSE(DecodeToWorker(Encode(FromChild(StageNote{"check"}))));
  EXPECT_FALSE(DecodeToCompiler(Encode(EveryJob()[0])));
}

TEST(EvaluationJsonTest, EveryDocumentComesBackAsItWas) {
  const json evaluation = ToJson(ExampleEvaluation());
  EXPECT_EQ(evaluation["schema"], 1);
  EXPECT_EQ(ToJson(*EvaluationFromJson(evaluation)), evaluation);
  const json problem = ToJson(ExampleProblem());
  EXPECT_EQ(ToJson(*ProblemInfoFromJson(problem)), problem);
  const json spec = ToJson(ExampleSpec());
  EXPECT_EQ(ToJson(*ProblemSpecFromJson(spec)), spec);
  const json timing = ToJson(ExampleTiming());
  EXPECT_EQ(ToJson(*TimingFromJson(timing)), timing);
}

TEST(EvaluationJsonTest, AnotherSchemaIsRefused) {
  json evaluation = ToJson(ExampleEvaluation());
  evaluation["schema"] = 2;
  EXPECT_EQ(EvaluationFromJson(evaluation).error().message,
            "Invalid JSON: evaluation.schema must be 1.");
  evaluation.erase("schema");
  EXPECT_FALSE(EvaluationFromJson(evaluation));
}

TEST(EvaluationJsonTest, EveryVerdictHasItsName) {
  for (const auto& [verdict, name] : kVerdictNames) {
    Evaluation e;
    e.verdict = verdict;
    const json json = ToJson(e);
    EXPECT_EQ(json["verdict"], name);
    EXPECT_EQ(EvaluationFromJson(json)->verdict, verdict);
  }
}

}  // namespace
}  // namespace cudaagent::protocol
