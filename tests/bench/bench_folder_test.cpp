#include "bench/bench_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/best_kernels.h"
#include "bench/row_fixture.h"
#include "util/file.h"

namespace cudaagent::bench {
namespace {

using testing::HasSubstr;

class BenchFolderTest : public testing::Test {
 protected:
  BenchFolderTest()
      : temp_(std::move(*util::TempDir::Create("bench"))), path_(temp_.path() + "/b") {}
  static Description Two() {
    Description description;
    description.suite = "/suite";
    description.flags = {{"--suite", {"/suite"}}};
    description.seed = 7;
    Problem problem;
    problem.key = problem.name = "a";
    problem.sha256 = "x";
    description.problems = {problem};
    return description;
  }

  util::TempDir temp_;
  std::string path_;
};

TEST_F(BenchFolderTest, RowsAreThereAgainAfterAKill) {
  {
    auto folder = BenchFolder::Create(path_, Two());
    ASSERT_TRUE(folder) << folder.error().message;
    ASSERT_TRUE(folder->Append(Measured("a", 1)));
    ASSERT_TRUE(folder->Append(Failed("b", Outcome::kInfraError, "ECC")));
    ASSERT_TRUE(folder->Append(Failed("c", Outcome::kIncorrect, "no")));
  }
  // Half a line, as a kill may leave it.
  auto text = util::ReadFile(path_ + "/rows.jsonl");
  ASSERT_TRUE(text);
  ASSERT_TRUE(util::WriteFileAtomic(path_ + "/rows.jsonl", *text + R"({"schema":1,"prob)"));
  auto again = BenchFolder::Resume(path_);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->rows().size(), 2u);  // the infrastructure error is to be done again
  EXPECT_EQ(again->rows()[0].problem, "a");
  EXPECT_EQ(again->rows()[1].problem, "c");
  EXPECT_EQ(again->description().seed, 7u);
  ASSERT_TRUE(again->Append(Measured("b", 3)));
  auto rows = ReadRows(path_);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 3u);
  EXPECT_EQ(ReadRows(path_ + "/rows.jsonl")->size(), 3u);
}

TEST_F(BenchFolderTest, RefusesAFolderThatHoldsOneAndABrokenLine) {
  { ASSERT_TRUE(BenchFolder::Create(path_, Two())); }
  EXPECT_THAT(BenchFolder::Create(path_, Two()).error().message, HasSubstr("--resume"));
  ASSERT_TRUE(util::WriteFileAtomic(path_ + "/rows.jsonl", "{}\n"));
  EXPECT_THAT(BenchFolder::Resume(path_).error().message, HasSubstr("rows.jsonl, line 1"));
  EXPECT_THAT(BenchFolder::Resume(temp_.path()).error().message, HasSubstr("holds no bench"));
  ASSERT_TRUE(util::WriteFileAtomic(path_ + "/bench.json", "[]"));
  EXPECT_THAT(ReadBench(path_).error().message, HasSubstr("bench.json"));
  EXPECT_FALSE(ReadRows(path_ + "/bench.json"));
}

TEST_F(BenchFolderTest, ARowThatStandsTwiceCountsOnceAndTwoThatDifferAreRefused) {
  { ASSERT_TRUE(BenchFolder::Create(path_, Two())); }
  const std::string row = ToJson(Measured("a", 1)).dump() + "\n";
  ASSERT_TRUE(util::WriteFileAtomic(path_ + "/rows.jsonl", row + row));
  {
    auto bench = BenchFolder::Resume(path_);
    ASSERT_TRUE(bench) << bench.error().message;
    EXPECT_EQ(bench->rows().size(), 1u);
  }
  ASSERT_TRUE(
      util::WriteFileAtomic(path_ + "/rows.jsonl", row + ToJson(Measured("a", 2)).dump() + "\n"));
  EXPECT_THAT(BenchFolder::Resume(path_).error().message, HasSubstr("line 2: a second row of a"));
}

TEST_F(BenchFolderTest, ABestKernelIsReadBackAndAChangedOneRefused) {
  BestKernel best;
  best.spec.path = "/m.py";
  best.spec.source = "x";
  best.source = "// kernel";
  best.evaluation = *Measured("a", 1).evaluation;
  best.evaluation.candidate_hash = "of the kernel before it was tuned";
  best.options.trials = 3;
  best.reward = "milestone";
  ASSERT_TRUE(WriteBest(temp_.path() + "/best", "level1/3_X", best));
  const std::string json = temp_.path() + "/best/level1/3_X.json";
  auto back = ReadBest(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->source, best.source);
  EXPECT_EQ(back->options.trials, 3);
  ASSERT_TRUE(util::WriteFileAtomic(temp_.path() + "/best/level1/3_X.cu", "// other"));
  EXPECT_THAT(ReadBest(json).error().message, HasSubstr("has changed"));
  ASSERT_TRUE(util::WriteFileAtomic(json, "{}"));
  EXPECT_THAT(ReadBest(json).error().message, HasSubstr("no object"));
}

TEST(ReproduceTest, ConfirmsRefutesOrSaysWhyItCannot) {
  const Evaluation recorded = *Measured("a", 1).evaluation;
  const auto what = [&](const Row& row) { return Reproduce(recorded, *row.evaluation, 0.05).what; };
  EXPECT_EQ(what(Measured("a", 1.02)), Reproduction::kConfirmed);
  EXPECT_EQ(what(Measured("a", 0.5)), Reproduction::kConfirmed);
  EXPECT_EQ(what(Measured("a", 1.2)), Reproduction::kRefuted);
  Row wrong = Measured("a", 1);
  wrong.evaluation->verdict = Verdict::kWrongResult;
  EXPECT_EQ(what(wrong), Reproduction::kRefuted);
  Row sick = Measured("a", 1);
  sick.evaluation->verdict = Verdict::kInfraError;
  EXPECT_EQ(what(sick), Reproduction::kNotComparable);
  Row elsewhere = Measured("a", 1);
  elsewhere.evaluation->device.uuid = "GPU-2";
  EXPECT_EQ(what(elsewhere), Reproduction::kNotComparable);
  EXPECT_EQ(Reproduce(*Estimated("a", 1).evaluation, *Estimated("a", 1.001).evaluation, 0.05).what,
            Reproduction::kRefuted);
}

}  // namespace
}  // namespace cudaagent::bench
