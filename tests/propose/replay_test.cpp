#include <gmock/gmock.h>

#include "propose/proposers.h"

namespace cudaagent::propose {
namespace {

using ::testing::HasSubstr;

const std::string kFile =
    "/*cudaagent {\"plan\": 1, \"steps\": [{\"op\": \"aten::relu\", \"args\": [\"$x\"], \"out\": "
    "\"out0\"}]} */\n";

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() {
    spec_.source = "line one\nline two";
    Attempt baseline;
    baseline.candidate.origin = "init";
    history_.push_back(baseline);
  }
  ProposalContext Context() { return ProposalContext{spec_, problem_, history_, nullptr, device_}; }
  // What a command answered to the prompt of now.
  Recording Record(const std::string& answer) {
    CommandConfig config;
    config.command = "cat > /dev/null; printf '%s' '" + answer + "'";
    auto proposer = MakeCommandProposer(config, *prompt::Templates::Load(""), {});
    auto proposal = proposer->Propose(Context());
    EXPECT_TRUE(proposal && proposal->has_value());
    (*proposal)->completion_tokens = 5;
    Recording recording;
    recording.proposals[1] = **proposal;
    return recording;
  }
  Result<std::optional<Proposal>> Replay(Recording recording) {
    return MakeReplayProposer(std::move(recording), *prompt::Templates::Load(""), {})
        ->Propose(Context());
  }
  ProblemSpec spec_;
  ProblemInfo problem_;
  std::vector<Attempt> history_;
  DeviceStamp device_;
};

TEST_F(ReplayTest, TheRecordedAnswerComesAgainAsItsProposerGaveIt) {
  const Recording recording = Record("Faster.\n```cuda\n" + kFile + "```\n");
  const auto proposal = Replay(recording);
  ASSERT_TRUE(proposal && proposal->has_value()) << proposal.error().message;
  const Proposal& recorded = recording.proposals.at(1);
  EXPECT_EQ((*proposal)->candidate.source, kFile);
  EXPECT_EQ((*proposal)->candidate.origin, "command");
  EXPECT_EQ((*proposal)->candidate.note, "Faster.");
  EXPECT_EQ((*proposal)->prompt, recorded.prompt);
  EXPECT_EQ((*proposal)->answer, recorded.answer);
  EXPECT_EQ((*proposal)->completion_tokens, 5);
}

TEST_F(ReplayTest, AnotherPromptIsAnErrorThatNamesTheAttemptAndTheLine) {
  const Recording recording = Record(kFile);
  spec_.source = "line one\nline 2";
  const auto proposal = Replay(recording);
  ASSERT_FALSE(proposal);
  EXPECT_EQ(proposal.error().code, ErrorCode::kUsage);
  EXPECT_THAT(proposal.error().message,
              HasSubstr("the prompt of attempt 1 is not the recorded one"));
  EXPECT_THAT(proposal.error().message, HasSubstr("recorded \"line two\", now \"line 2\""));
}

TEST_F(ReplayTest, BeyondTheRecordingThereIsNothingOrAnError) {
  EXPECT_FALSE(Replay({}));
  Recording exhausted;
  exhausted.exhausted = true;
  const auto proposal = Replay(exhausted);
  ASSERT_TRUE(proposal);
  EXPECT_FALSE(proposal->has_value());
}

TEST_F(ReplayTest, AProposerThatAskedNobodyIsRepeatedByItsCandidate) {
  Recording recording;
  recording.proposals[1].candidate = {kFile, "builtin", "fused"};
  const auto proposal = Replay(recording);
  ASSERT_TRUE(proposal && proposal->has_value());
  EXPECT_EQ((*proposal)->candidate.note, "fused");
}

}  // namespace
}  // namespace cudaagent::propose
