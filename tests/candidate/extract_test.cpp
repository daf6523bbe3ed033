#include <gtest/gtest.h>

#include <random>

#include "candidate/plan.h"

namespace cudaagent::candidate {
namespace {

const std::string kFile = "/*cudaagent {\"plan\": 1} */\n__global__ void f() {}\n";

std::string Extract(const std::string& answer) {
  auto found = ExtractCandidate(answer);
  return found ? *found : found.error().message;
}

TEST(ExtractCandidateTest, TakesTheLastBlockWithAPlan) {
  EXPECT_EQ(Extract("First:\n```cuda\n/*cudaagent old */\n```\nBetter:\n```cuda\n" + kFile +
                    "```\nand a note:\n```\nls\n```\n"),
            kFile);
  EXPECT_EQ(Extract("~~~~ cpp\n" + kFile + "```\n~~~~\n"), kFile + "```\n");
  EXPECT_EQ(Extract("  ```\r\n" + kFile + "  ```"), kFile);
}

TEST(ExtractCandidateTest, TakesAnAnswerThatIsACandidate) {
  EXPECT_EQ(Extract("\n  " + kFile), kFile);
  EXPECT_EQ(Extract("/* cudaagent\n{} */ x"), "/* cudaagent\n{} */ x");
}

TEST(ExtractCandidateTest, SaysWhyThereIsNone) {
  const std::string no_block =
      "the answer has no code block; send the whole file, starting with the /*cudaagent plan, in "
      "one "
      "```cuda block";
  EXPECT_EQ(Extract(""), no_block);
  EXPECT_EQ(Extract("I cannot do that."), no_block);
  EXPECT_EQ(
      Extract("```cuda\n__global__ void f() {}\n```"),
      "no code block of the answer holds a plan; the file in the ```cuda block must start with "
      "the comment /*cudaagent {...} */");
  const std::string cut =
      "the code block with the plan is not closed, so the answer was cut off; send the whole file "
      "in "
      "one ```cuda block";
  EXPECT_EQ(Extract("```cuda\n" + kFile), cut);
  EXPECT_EQ(Extract("```cuda\n" + kFile + "```\nEven better:\n```cuda\n" + kFile), cut)
      << "half a file is not made up for by an older whole one";
  EXPECT_EQ(
      Extract("Here: " + kFile),
      "the answer's plan stands outside a code block; send the whole file, plan first, in one "
      "```cuda block");
}

TEST(ExtractCandidateTest, RandomAnswersNeverCrash) {
  std::mt19937 random(3);
  const std::string_view pieces[] = {"```", "~~~", "\n", "cuda", "/*cudaagent", "*/",
                                     " ",   "`",   "x",  "\x80", "````"};
  for (int round = 0; round < 20000; ++round) {
    std::string answer;
    for (int length = random() % 20; length > 0; --length) {
      answer += pieces[random() % std::size(pieces)];
    }
    EXPECT_FALSE(Extract(answer).empty());
  }
  EXPECT_FALSE(Extract(std::string(10 << 20, '`')).empty());
  std::string fences;
  for (int i = 0; i < 500000; ++i) fences += "```\n";
  EXPECT_FALSE(Extract(fences).empty());
}

}  // namespace
}  // namespace cudaagent::candidate
