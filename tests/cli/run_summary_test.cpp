#include "cli/run_summary.h"

#include <gtest/gtest.h>

#include "cli/app.h"

namespace cudaagent::cli {
namespace {

Attempt Judged(int number, Verdict verdict, double median_ms) {
  Attempt attempt;
  attempt.number = number;
  attempt.evaluation.verdict = verdict;
  attempt.evaluation.message = "as said";
  if (median_ms > 0) attempt.evaluation.candidate = Timing{median_ms, median_ms, median_ms, 10};
  return attempt;
}

search::Outcome OutcomeOf(std::vector<Attempt> attempts, int best) {
  search::Outcome outcome;
  outcome.attempts = std::move(attempts);
  outcome.best = best;
  return outcome;
}

TEST(QuarantineTest, WhatWouldBeFastestAndIsSuspectedEndsWithItsOwnCode) {
  const auto outcome =
      OutcomeOf({Judged(0, Verdict::kOk, 2), Judged(1, Verdict::kSuspectedHack, 1)}, 0);
  ASSERT_NE(Quarantined(outcome), nullptr);
  EXPECT_EQ(Quarantined(outcome)->number, 1);
  EXPECT_EQ(ExitCodeOfOutcome(outcome, {}), kExitQuarantined);
  EXPECT_EQ(SummaryJson(outcome, "/run", {})["quarantined"], 1);
  EXPECT_NE(SummaryText(outcome, "/run", {}).find("quarantined: attempt 1"), std::string::npos);
}

TEST(QuarantineTest, OneThatIsSlowerThanTheBestOrHasNoTimeIsNone) {
  const auto outcome = OutcomeOf({Judged(0, Verdict::kOk, 2), Judged(1, Verdict::kSuspectedHack, 3),
                                  Judged(2, Verdict::kSuspectedHack, 0)},
                                 0);
  EXPECT_EQ(Quarantined(outcome), nullptr);
  EXPECT_EQ(ExitCodeOfOutcome(outcome, {}), kExitOk);
}

TEST(QuarantineTest, WhereNothingIsCorrectAnySuspectIs) {
  const auto outcome =
      OutcomeOf({Judged(0, Verdict::kWrongResult, 0), Judged(1, Verdict::kSuspectedHack, 0)}, -1);
  EXPECT_EQ(ExitCodeOfOutcome(outcome, {}), kExitQuarantined);
  EXPECT_EQ(ExitCodeOfOutcome(OutcomeOf({Judged(0, Verdict::kWrongResult, 0)}, -1), {}),
            kExitNoCorrectCandidate);
}

TEST(QuarantineTest, TheConfirmationHasTheLastWord) {
  auto outcome = OutcomeOf({Judged(0, Verdict::kOk, 2), Judged(1, Verdict::kOk, 1)}, 0);
  outcome.attempts[1].confirmation = Judged(1, Verdict::kSuspectedHack, 1).evaluation;
  ASSERT_NE(Quarantined(outcome), nullptr);
  EXPECT_EQ(Quarantined(outcome)->number, 1);
}

TEST(SummaryTest, SaysWhetherTheBestIsConfirmed) {
  auto outcome = OutcomeOf({Judged(0, Verdict::kOk, 2)}, 0);
  EXPECT_NE(SummaryText(outcome, "/run", {}).find("not confirmed"), std::string::npos);
  EXPECT_EQ(SummaryJson(outcome, "/run", {})["best"]["confirmed"], false);
  outcome.attempts[0].confirmation = Judged(0, Verdict::kOk, 2.5).evaluation;
  EXPECT_NE(SummaryText(outcome, "/run", {}).find("confirmed in a fresh worker"),
            std::string::npos);
  EXPECT_EQ(SummaryJson(outcome, "/run", {})["best"]["evaluation"]["candidate"]["median_ms"], 2.5);
}

}  // namespace
}  // namespace cudaagent::cli
