// KernelBench's own files, in the form that its evaluator writes (423217d).
#include "bench/kernelbench_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/row_fixture.h"
#include "bench/scores.h"
#include "util/file.h"

namespace cudaagent::bench {
namespace {

using testing::HasSubstr;

const char* kResults = R"x({
  "1": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": 2.0,
         "metadata": {"hardware": "NVIDIA H100", "device": "cuda:0", "correctness_trials": "(5 / 5)"},
         "runtime_stats": {"mean": 2.0, "std": 0.01, "min": 1.98, "max": 2.1, "num_trials": 100}}],
  "2": [{"sample_id": 0, "compiled": true, "correctness": false, "runtime": -1.0,
         "metadata": {"correctness_issue": "Output mismatch"}, "runtime_stats": {}},
        {"sample_id": 1, "compiled": false, "correctness": false, "runtime": -1.0,
         "metadata": {"compilation_error": "error: expected ;"}, "runtime_stats": {}}],
  "3": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": 5.0, "metadata": {}, "runtime_stats": {}}],
  "99": []
})x";

std::vector<Problem> Three() {
  std::vector<Problem> problems;
  for (int id = 1; id <= 3; ++id) {
    Problem problem;
    problem.level = 1;
    problem.id = id;
    problem.name = std::to_string(id) + "_P";
    problem.key = "level1/" + problem.name;
    problems.push_back(problem);
  }
  return problems;
}

class KernelBenchFilesTest : public testing::Test {
 protected:
  KernelBenchFilesTest() : temp_(std::move(*util::TempDir::Create("kb"))) {}
  std::string File(const std::string& name, const std::string& text) {
    EXPECT_TRUE(util::WriteFileAtomic(temp_.path() + "/" + name, text));
    return temp_.path() + "/" + name;
  }
  util::TempDir temp_;
};

TEST_F(KernelBenchFilesTest, ScoresAnEvaluatorsResults) {
  auto eager = ReadBaselineTimes(
      File("eager.json", R"({"level1": {"1_P.py": {"mean": 3.0}, "3_P.py": {"mean": 4.0}},
                                                       "level2": {"1_P.py": {"mean": 9.0}}})"));
  ASSERT_TRUE(eager) << eager.error().message;
  int unknown = 0;
  auto rows = ReadEvalResults(File("eval_results.json", kResults), Three(), *eager, {}, &unknown);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(unknown, 1);
  ASSERT_EQ(rows->size(), 4u);
  const Scores s = Score(*rows, {"level1/1_P", "level1/2_P", "level1/3_P"}, {});
  EXPECT_NEAR(s.fast_p.at("0"), 2.0 / 3, 1e-12);
  EXPECT_NEAR(s.fast_p.at("1"), 1.0 / 3, 1e-12);  // 1.5x; 0.8x is not
  EXPECT_NEAR(s.fast_p.at("1.5"), 0, 1e-12);      // strict
  EXPECT_NEAR(*s.geomean_eager, std::sqrt(1.5 * 0.8), 1e-12);
  EXPECT_EQ((*rows)[2].evaluation->verdict, Verdict::kCompileFailed);
  EXPECT_EQ((*rows)[2].message, "error: expected ;");
  EXPECT_FALSE(s.estimated);
}

TEST_F(KernelBenchFilesTest, RefusesWhatIsNotTheirs) {
  int unknown = 0;
  EXPECT_FALSE(ReadEvalResults(File("a.json", "[]"), Three(), {}, {}, &unknown));
  EXPECT_FALSE(ReadEvalResults(File("b.json", R"({"1": [3]})"), Three(), {}, {}, &unknown));
  EXPECT_FALSE(ReadBaselineTimes(File("c.json", R"({"level1": {"1_P.py": {"mean": "x"}}})")));
  std::vector<Problem> two_levels = Three();
  two_levels.push_back(two_levels[0]);
  two_levels.back().level = 2;
  EXPECT_THAT(ReadEvalResults(File("d.json", "{}"), two_levels, {}, {}, &unknown).error().message,
              HasSubstr("--level"));
}

TEST_F(KernelBenchFilesTest, ARuntimeThatIsNoTimeIsRefusedAndMinusOneIsNotTimed) {
  int unknown = 0;
  const auto read = [&](const std::string& runtime) {
    return ReadEvalResults(
        File("r.json",
             R"({"1": {"compiled": true, "correctness": true, "runtime": )" + runtime + "}}"),
        Three(), {}, {}, &unknown);
  };
  for (const char* bad : {"0", "-2.5", "null", "\"fast\"", "1e999", "NaN"}) {
    const auto rows = read(bad);
    ASSERT_FALSE(rows) << bad;
    EXPECT_EQ(rows.error().code, ErrorCode::kUsage);
  }
  EXPECT_THAT(read("0").error().message, HasSubstr("sample 0 of problem 1"));
  const auto untimed = read("-1.0");
  ASSERT_TRUE(untimed) << untimed.error().message;
  EXPECT_TRUE((*untimed)[0].correct());
  EXPECT_FALSE((*untimed)[0].evaluation->candidate);
  EXPECT_EQ((*untimed)[0].device, "not stated");
}

TEST_F(KernelBenchFilesTest, WhatStandsTwiceIsRefused) {
  int unknown = 0;
  const std::string sample = R"({"sample_id": 4, "compiled": false})";
  EXPECT_THAT(ReadEvalResults(File("a.json", "{\"1\": [" + sample + "," + sample + "]}"), Three(),
                              {}, {}, &unknown)
                  .error()
                  .message,
              HasSubstr("sample 4 of problem 1 stands there twice"));
  EXPECT_THAT(ReadEvalResults(File("b.json", R"({"1": [], "1": []})"), Three(), {}, {}, &unknown)
                  .error()
                  .message,
              HasSubstr("\"1\" twice"));
}

TEST_F(KernelBenchFilesTest, TimesThatMeetNothingAreNamed) {
  auto times = ReadBaselineTimes(File(
      "t.json",
      R"({"level1": {"1_P.py": {"mean": 3.0}, "7_Q.py": {"mean": 4.0}}, "level2": {"1_P.py": {"mean": 9.0}}})"));
  ASSERT_TRUE(times);
  EXPECT_THAT(TimesOfNone(*times, Three()), testing::ElementsAre("level1/7_Q.py"));
  int unknown = 0;
  auto rows = ReadEvalResults(File("eval_results.json", kResults), Three(), *times, {}, &unknown);
  ASSERT_TRUE(rows);
  EXPECT_THAT(WithoutTime(*times, *rows), testing::ElementsAre("level1/3_P"));  // 2 is not correct
}

TEST_F(KernelBenchFilesTest, WhatIsWrittenScoresTheSameWhenReadBack) {
  std::vector<Row> rows;
  for (const Problem& problem : Three()) {
    Row row = problem.id == 2 ? Failed("", Outcome::kIncorrect, "no") : Measured("", problem.id);
    row.problem = problem.key;
    row.name = problem.name;
    row.level = 1;
    row.problem_id = problem.id;
    if (row.evaluation) row.evaluation->check = {5, 5};
    rows.push_back(row);
  }
  ASSERT_TRUE(WriteKernelBenchFiles(temp_.path(), rows));
  const std::string below = temp_.path() + "/level1/";
  const auto results = nlohmann::json::parse(*util::ReadFile(below + "eval_results.json"));
  EXPECT_EQ(results["1"][0]["runtime"], 1.0);
  EXPECT_EQ(results["1"][0]["metadata"]["correctness_trials"], "(5 / 5)");
  EXPECT_EQ(results["2"][0]["correctness"], false);
  const auto passes = nlohmann::json::parse(*util::ReadFile(below + "pass_at_k_results.json"));
  EXPECT_NEAR(passes["averages"]["avg_pass@1"].get<double>(), 2.0 / 3, 1e-12);
  auto eager = ReadBaselineTimes(below + "baseline_time_torch.json");
  ASSERT_TRUE(eager) << eager.error().message;
  int unknown = 0;
  auto back = ReadEvalResults(below + "eval_results.json", Three(), *eager, {}, &unknown);
  ASSERT_TRUE(back) << back.error().message;
  const std::vector<std::string> keys = {"level1/1_P", "level1/2_P", "level1/3_P"};
  EXPECT_EQ(Score(*back, keys, {}).fast_p, Score(rows, keys, {}).fast_p);
  EXPECT_NEAR(*Score(*back, keys, {}).geomean_eager, *Score(rows, keys, {}).geomean_eager, 1e-12);
}

}  // namespace
}  // namespace cudaagent::bench
