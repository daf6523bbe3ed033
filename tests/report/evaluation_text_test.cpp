#include "report/evaluation_text.h"

#include <gmock/gmock.h>

namespace cudaagent::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Evaluation Correct() {
  Evaluation e;
  e.verdict = Verdict::kOk;
  e.message = "Correct in 5 of 5 trials.";
  e.stage = "time";
  e.check.trials = e.check.passed = 5;
  return e;
}

TEST(EvaluationTextTest, SaysWhereRacesWereLookedForAndWhereNot) {
  Evaluation e = Correct();
  EXPECT_THAT(EvaluationText(e), Not(HasSubstr("races")));
  e.check.races = RaceReport{.kernels = 1, .launches = 2, .blocks = 16, .seconds = 0.034};
  EXPECT_THAT(EvaluationText(e),
              HasSubstr("  races          looked for in 16 blocks of 1 kernel, 0.03 s\n"));
  e.check.races->remarks = {"races: not looked for in kernel f (an instruction it does not know)"};
  EXPECT_THAT(
      EvaluationText(e),
      HasSubstr("  note:  races: not looked for in kernel f (an instruction it does not know)\n"));
}

}  // namespace
}  // namespace cudaagent::report
