#include "store/run_database.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "protocol/evaluation_json.h"
#include "protocol/examples.h"
#include "util/file.h"

namespace cudaagent::store {
namespace {

class RunDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("run-database");
    ASSERT_TRUE(temp);
    temp_ = std::move(*temp);
    path_ = temp_.path() + "/run.db";
    description_.spec = protocol::ExampleSpec();
    description_.spec.source = "# caf\xe9";  // not UTF-8
    description_.arguments = {"cudaagent", "optimize"};
    description_.flags = {{"--const", {"a=1", "b=2"}}, {"MODEL", {"/m.py"}}};
    description_.recheck = {"cudaagent", "eval"};
    description_.proposer = "command";
    description_.version = "0.1.0";
    description_.started = "2026-01-01T00:00:00Z";
    auto database = RunDatabase::OpenToWrite(path_);
    ASSERT_TRUE(database) << database.error().message;
    database_.emplace(std::move(*database));
  }
  static Attempt Number(int number, double speedup) {
    Attempt attempt;
    attempt.number = number;
    attempt.parent = number - 1;
    attempt.candidate = {"// \xff " + std::to_string(number), "command", "a note"};
    attempt.evaluation = protocol::ExampleEvaluation();
    attempt.evaluation.verdict = Verdict::kOk;
    attempt.evaluation.speedup_compile = Speedup{speedup, speedup, speedup};
    attempt.feedback = "go on";
    attempt.elapsed_s = number + 0.1;
    return attempt;
  }
  util::TempDir temp_;
  std::string path_;
  RunDescription description_;
  std::optional<RunDatabase> database_;
};

std::string Text(const Evaluation& e) { return protocol::ToText(protocol::ToJson(e)); }

TEST_F(RunDatabaseTest, ARunComesBackAsItWasStored) {
  EXPECT_FALSE(database_->HoldsRun().value());
  ASSERT_TRUE(database_->Begin(description_));
  EXPECT_TRUE(database_->HoldsRun().value());
  Attempt first = Number(0, 1), second = Number(1, 2.0 / 3);
  // What JSON has no numbers for, and doubles that need all their digits.
  second.evaluation.check.max_rel_error = std::numeric_limits<double>::infinity();
  second.evaluation.candidate->median_ms = 0.1 + 0.2;
  second.evaluation.counters[0].instructions = std::numeric_limits<int64_t>::max();
  Proposal proposal;
  proposal.prompt = "please";
  proposal.answer = "here";
  proposal.reasoning = "I think";
  proposal.finish_reason = "length";
  proposal.prompt_hash = "abc";
  proposal.candidate.fault = Fault{Verdict::kBadCandidate, "cut off"};
  proposal.reasoning_tokens = 3;
  proposal.cached_tokens = 2;
  proposal.prompt_tokens = 7;
  proposal.completion_tokens = int64_t{1} << 40;
  ASSERT_TRUE(database_->SaveAttempt(first, nullptr, true));
  ASSERT_TRUE(database_->SaveAttempt(second, &proposal, false));

  auto reader = RunDatabase::OpenToRead(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  auto run = reader->Read();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->description.spec.source, description_.spec.source);
  EXPECT_EQ(run->description.spec.consts, description_.spec.consts);
  EXPECT_EQ(run->description.flags, description_.flags);
  EXPECT_EQ(run->description.arguments, description_.arguments);
  EXPECT_EQ(run->description.recheck, description_.recheck);
  EXPECT_EQ(run->description.started, description_.started);
  ASSERT_EQ(run->attempts.size(), 2u);
  EXPECT_FALSE(run->attempts[0].proposal);
  const StoredAttempt& got = run->attempts[1];
  EXPECT_EQ(got.attempt.candidate.source, second.candidate.source);
  EXPECT_EQ(got.attempt.parent, 0);
  EXPECT_EQ(got.attempt.feedback, "go on");
  EXPECT_EQ(Text(got.attempt.evaluation), Text(second.evaluation));
  EXPECT_EQ(got.attempt.evaluation.candidate->median_ms, second.evaluation.candidate->median_ms);
  EXPECT_EQ(got.attempt.evaluation.check.max_rel_error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(got.attempt.evaluation.counters[0].instructions, std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(got.proposal);
  EXPECT_EQ(got.proposal->answer, "here");
  EXPECT_EQ(got.proposal->reasoning, "I think");
  EXPECT_EQ(got.proposal->finish_reason, "length");
  EXPECT_EQ(got.proposal->prompt_hash, "abc");
  ASSERT_TRUE(got.proposal->candidate.fault);
  EXPECT_EQ(got.proposal->candidate.fault->message, "cut off");
  EXPECT_EQ(got.proposal->reasoning_tokens, 3);
  EXPECT_EQ(got.attempt.usage.cached_tokens, 2);
  EXPECT_EQ(got.proposal->completion_tokens, int64_t{1} << 40);
  EXPECT_EQ(run->best()->attempt.number, 0);
  EXPECT_DOUBLE_EQ(run->elapsed_s, 1.1);
  EXPECT_EQ(run->stopped, "");
}

TEST_F(RunDatabaseTest, AnAttemptIsStoredOnceOrNotAtAll) {
  ASSERT_TRUE(database_->Begin(description_));
  ASSERT_TRUE(database_->SaveAttempt(Number(0, 1), nullptr, true));
  Attempt again = Number(0, 2);
  EXPECT_FALSE(database_->SaveAttempt(again, nullptr, true));
  auto run = database_->Read();
  ASSERT_TRUE(run);
  ASSERT_EQ(run->attempts.size(), 1u);
  EXPECT_EQ(run->attempts[0].attempt.evaluation.speedup_compile->value, 1);
  EXPECT_TRUE(database_->SaveAttempt(Number(1, 2), nullptr, true));
}

TEST_F(RunDatabaseTest, ARefutedBestIsNoneAndAnotherTakesItsPlace) {
  ASSERT_TRUE(database_->Begin(description_));
  ASSERT_TRUE(database_->SaveAttempt(Number(0, 1), nullptr, true));
  Attempt refuted = Number(1, 3);
  ASSERT_TRUE(database_->SaveAttempt(refuted, nullptr, true));
  Attempt next = Number(2, 2);
  ASSERT_TRUE(database_->SaveAttempt(next, nullptr, false));
  refuted.confirmation = refuted.evaluation;
  refuted.confirmation->verdict = Verdict::kWrongResult;
  ASSERT_TRUE(database_->SaveConfirmation(refuted, 2));
  EXPECT_EQ(database_->Glance()->best, 2);
  next.confirmation = next.evaluation;
  next.confirmation->speedup_compile->value = 1.9;
  ASSERT_TRUE(database_->SaveConfirmation(next, 2));
  auto run = database_->Read();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->best()->attempt.number, 2);
  EXPECT_EQ(run->attempts[1].attempt.judgement().verdict, Verdict::kWrongResult);
  EXPECT_EQ(run->attempts[1].attempt.evaluation.verdict, Verdict::kOk);
  EXPECT_EQ(run->best()->attempt.judgement().speedup_compile->value, 1.9);
  EXPECT_FALSE(run->attempts[0].attempt.confirmation);
  EXPECT_EQ(database_->Glance()->best_evaluation->speedup_compile->value, 1.9);
}

TEST_F(RunDatabaseTest, AGlanceHasTheLatestBestAndHowItEnded) {
  ASSERT_TRUE(database_->Begin(description_));
  ASSERT_TRUE(database_->SaveAttempt(Number(0, 1), nullptr, true));
  ASSERT_TRUE(database_->SaveAttempt(Number(1, 3), nullptr, true));
  ASSERT_TRUE(database_->SaveAttempt(Number(2, 2), nullptr, false));
  ASSERT_TRUE(database_->End("all attempts used", true, 12.5));
  auto glance = database_->Glance();
  ASSERT_TRUE(glance) << glance.error().message;
  EXPECT_EQ(glance->attempts, 3);
  EXPECT_EQ(glance->best, 1);
  EXPECT_EQ(glance->best_evaluation->speedup_compile->value, 3);
  EXPECT_TRUE(glance->finished);
  EXPECT_EQ(glance->model, "/m.py");
  ASSERT_TRUE(database_->Continue({{"--attempts", {"9"}}}));
  EXPECT_FALSE(database_->Glance()->finished);
  auto run = database_->Read();
  EXPECT_EQ(run->elapsed_s, 12.5);
  EXPECT_EQ(run->description.flags.at("--attempts").front(), "9");
}

TEST_F(RunDatabaseTest, ATamperedEvaluationIsDamageNotACrash) {
  ASSERT_TRUE(database_->Begin(description_));
  ASSERT_TRUE(database_->SaveAttempt(Number(0, 1), nullptr, true));
  database_.reset();
  auto raw = Database::Open(path_, Database::Mode::kWrite);
  ASSERT_TRUE(raw);
  for (const char* json : {"", "{}", "[1", "null", "{\"schema\":1}"}) {
    ASSERT_TRUE(raw->Run(std::string("UPDATE evaluation SET json = '") + json + "'"));
    auto reader = RunDatabase::OpenToRead(path_);
    auto run = reader->Read();
    ASSERT_FALSE(run) << json;
    EXPECT_NE(run.error().message.find("is damaged"), std::string::npos);
    EXPECT_FALSE(reader->Glance());
  }
}

}  // namespace
}  // namespace cudaagent::store
