#include "bench/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "util/file.h"

namespace cudaagent::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SuiteTest : public testing::Test {
 protected:
  SuiteTest() : temp_(std::move(*util::TempDir::Create("suite"))) {}
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = temp_.path() + "/" + name;
    EXPECT_TRUE(util::MakeDirs(std::filesystem::path(path).parent_path()));
    EXPECT_TRUE(util::WriteFileAtomic(path, text));
    return path;
  }
  std::vector<std::string> Keys(const Selection& selection, const std::string& below = "") {
    auto problems = ReadSuite(temp_.path() + below, selection);
    EXPECT_TRUE(problems) << problems.error().message;
    std::vector<std::string> keys;
    if (problems) {
      for (const Problem& problem : *problems) keys.push_back(problem.key);
    }
    return keys;
  }
  std::string Complaint(const Selection& selection, const std::string& below = "") {
    auto problems = ReadSuite(temp_.path() + below, selection);
    return problems ? "" : problems.error().message;
  }
  void KernelBench(const std::string& below = "") {
    for (const char* name :
         {"level1/1_One.py", "level1/2_Two.py", "level1/10_Ten.py", "level2/1_Uno.py"}) {
      File(below + name, name);
    }
    File(below + "level1/__init__.py", "");
    File(below + "level1/README.md", "");
  }

  util::TempDir temp_;
};

TEST_F(SuiteTest, ReadsLevelsInOrderOfNumbers) {
  KernelBench();
  EXPECT_THAT(Keys({}),
              ElementsAre("level1/1_One", "level1/2_Two", "level1/10_Ten", "level2/1_Uno"));
  Selection second;
  second.levels = {2};
  EXPECT_THAT(Keys(second), ElementsAre("level2/1_Uno"));
  second.levels = {3};
  EXPECT_THAT(Complaint(second), HasSubstr("no folder level3"));
}

TEST_F(SuiteTest, FindsTheLevelsOfACheckoutAndOfOneLevelsFolder) {
  KernelBench("KernelBench/");
  EXPECT_EQ(Keys({}).size(), 4u);
  EXPECT_THAT(Keys({}, "/KernelBench/level2"), ElementsAre("level2/1_Uno"));
}

TEST_F(SuiteTest, ReadsAFolderWithoutLevels) {
  File("b.py", "b");
  File("a.py", "a");
  auto problems = ReadSuite(temp_.path(), {});
  ASSERT_TRUE(problems);
  ASSERT_EQ(problems->size(), 2u);
  EXPECT_EQ((*problems)[0].key, "a");
  EXPECT_EQ((*problems)[0].id, 1);
  EXPECT_EQ((*problems)[0].level, 0);
  // sha256 of "a".
  EXPECT_EQ((*problems)[0].sha256,
            "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
  Selection level;
  level.levels = {1};
  EXPECT_THAT(Complaint(level), HasSubstr("Leave --level out"));
}

TEST_F(SuiteTest, AFileThatIsNoneFailsOnlyWhereItIsSelected) {
  File("good.py", "good");
  std::filesystem::create_symlink("nowhere", temp_.path() + "/dangling.py");
  File("a name.py", "bad");
  Selection selection;
  EXPECT_THAT(Complaint(selection), HasSubstr("leave it out with --problems"));
  selection.problems = "dangling";
  EXPECT_THAT(Complaint(selection), HasSubstr("dangling.py"));
  selection.problems = "good";
  EXPECT_THAT(Keys(selection), ElementsAre("good"));
  selection.problems = "nosuch";
  EXPECT_THAT(Complaint(selection), HasSubstr("nosuch"));
}

TEST_F(SuiteTest, ReadsAJsonlExport) {
  const std::string path =
      File("export.jsonl", R"({"level": 1, "problem_id": 7, "name": "7_Seven", "code": "x = 1"})"
                           "\n\n"
                           R"({"level": 1, "problem_id": 3, "name": "3_Three.py", "code": "y = 2"})"
                           "\n");
  auto problems = ReadSuite(path, {});
  ASSERT_TRUE(problems) << problems.error().message;
  ASSERT_EQ(problems->size(), 2u);
  EXPECT_EQ((*problems)[0].key, "level1/3_Three");
  EXPECT_EQ((*problems)[0].source, "y = 2");
}

TEST_F(SuiteTest, SaysWhichLineOfAnExportIsWrong) {
  File("a.jsonl", "{}\n");
  EXPECT_THAT(Complaint({}, "/a.jsonl"), HasSubstr("line 1: \"name\" is no text"));
  File("b.jsonl", R"({"level": 1, "problem_id": 1, "name": "../../x", "code": ""})");
  EXPECT_THAT(Complaint({}, "/b.jsonl"), HasSubstr("the name may hold"));
  File("c.jsonl", R"({"level": "1", "problem_id": 1, "name": "x", "code": ""})");
  EXPECT_THAT(Complaint({}, "/c.jsonl"), HasSubstr("\"level\" is no number"));
  File("d.parquet", "PAR1....");
  EXPECT_THAT(Complaint({}, "/d.parquet"), HasSubstr("to_json"));
}

TEST_F(SuiteTest, ChoosesByIdsRangesAndNames) {
  KernelBench();
  Selection selection;
  selection.levels = {1};
  selection.problems = "2-10";
  EXPECT_THAT(Keys(selection), ElementsAre("level1/2_Two", "level1/10_Ten"));
  selection.problems = "10_Ten,level1/1_One";
  EXPECT_THAT(Keys(selection), ElementsAre("level1/1_One", "level1/10_Ten"));
  selection.problems = "1,10_Tin";
  EXPECT_THAT(Complaint(selection), HasSubstr("Did you mean \"10_Ten\"?"));
  selection.problems = "77";
  EXPECT_THAT(Complaint(selection), HasSubstr("no problem of the suite is 77"));
}

TEST_F(SuiteTest, ShardsAreDisjointAndTogetherTheWhole) {
  KernelBench();
  std::vector<std::string> all;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    Selection selection;
    selection.shard = shard;
    for (const std::string& key : Keys(selection)) all.push_back(key);
  }
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all, ElementsAre("level1/10_Ten", "level1/1_One", "level1/2_Two", "level2/1_Uno"));
  for (const char* bad : {"0/3", "4/3", "3", "a/b", "1/", "/1", "-1/3"}) {
    Selection selection;
    selection.shard = bad;
    EXPECT_THAT(Complaint(selection), HasSubstr("--shard")) << bad;
  }
}

TEST_F(SuiteTest, AConstFileGivesEachProblemItsConstants) {
  File("a.py", "a");
  Selection selection;
  selection.const_file =
      File("small.json", R"({"a": {"n": 4, "text": "'x'", "on": true, "f": 0.5}})");
  auto problems = ReadSuite(temp_.path(), selection);
  ASSERT_TRUE(problems) << problems.error().message;
  const std::map<std::string, std::string> expected = {
      {"n", "4"}, {"text", "'x'"}, {"on", "True"}, {"f", "0.5"}};
  EXPECT_EQ((*problems)[0].consts, expected);
  selection.const_file = File("bad.json", R"({"aa": {}})");
  EXPECT_THAT(Complaint(selection), HasSubstr("no problem is called aa"));
  selection.const_file = File("worse.json", R"({"a": {"n": [1]}})");
  EXPECT_THAT(Complaint(selection), HasSubstr("n of a is no number"));
  selection.const_file = File("worst.json", "[1");
  EXPECT_THAT(Complaint(selection), HasSubstr("no JSON object"));
}

TEST_F(SuiteTest, FindsCandidatesByKernelBenchsNamesAndByOurs) {
  KernelBench();
  auto problems = ReadSuite(temp_.path(), {});
  ASSERT_TRUE(problems);
  File("c/level_1_problem_2_sample_1_kernel.cu", "");
  File("c/level_1_problem_2_sample_0_kernel.cu", "");
  File("c/level1/10_Ten.cu", "");
  File("c/level2/1_Uno_sample_3.cu", "");
  File("c/other.cu", "");
  File("c/level1/10_Ten.json", "");
  std::vector<std::string> unknown;
  auto found = FindCandidates(temp_.path() + "/c", *problems, &unknown);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 3u);
  ASSERT_EQ((*found)["level1/2_Two"].size(), 2u);
  EXPECT_EQ((*found)["level1/2_Two"][1].number, 1);
  EXPECT_EQ((*found)["level2/1_Uno"].at(0).number, 3);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_THAT(unknown[0], HasSubstr("other.cu"));

  File("c/level1/2_Two.cu", "");  // sample 0 again
  EXPECT_THAT(FindCandidates(temp_.path() + "/c", *problems, &unknown).error().message,
              HasSubstr("both sample 0"));
  EXPECT_FALSE(FindCandidates(temp_.path() + "/none", *problems, &unknown));
}

// The small sizes stand twice: for people in the problems' first lines, for bench in small.json.
TEST(OwnProblemsTest, SmallJsonSaysWhatTheDocstringsSay) {
  const std::string folder = std::string(CUDAAGENT_SOURCE_DIR) + "/benchmarks/problems";
  Selection selection;
  selection.const_file = folder + "/small.json";
  auto problems = ReadSuite(folder, selection);
  ASSERT_TRUE(problems) << problems.error().message;
  EXPECT_GE(problems->size(), 16u);
  const std::regex flag(R"re(--const (\w+)=(\S+))re");
  for (const Problem& problem : *problems) {
    const std::string head = problem.source.substr(0, problem.source.find("import torch"));
    std::map<std::string, std::string> told;
    for (std::sregex_iterator it(head.begin(), head.end(), flag), end; it != end; ++it)
      told[(*it)[1]] = (*it)[2];
    EXPECT_FALSE(told.empty()) << problem.key;
    EXPECT_EQ(problem.consts, told) << problem.key;
  }
}

}  // namespace
}  // namespace cudaagent::bench
