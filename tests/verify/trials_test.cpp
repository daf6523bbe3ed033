#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <set>

#include "verify/fakes.h"
#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Checked<void> Right(device::Bindings& bindings, at::Tensor& out) {
  at::mul_out(out, bindings.inputs["x"], bindings.parameters["weight"]);
  return {};
}

class TrialsTest : public testing::Test {
 protected:
  TrialsTest() : reference(&events) {
    options.hidden_variants = false;
    bindings.inputs["x"] = at::zeros({8, 4});
    bindings.scalars["n"] = int64_t{3};
    bindings.parameters["weight"] = reference.parameters().at("weight").clone();
  }

  Result<Checked<void>> Check(FakeRunner::Work work, bool gpu = false,
                              std::optional<Fault> guards = {}) {
    FakeDevice device(&events, gpu);
    FakeRunner runner(&events, &bindings, std::move(work));
    runner.guard_fault = std::move(guards);
    return CheckCandidate(runner, device, bindings, reference, precision, options, &report);
  }
  Fault FaultOf(FakeRunner::Work work, bool gpu = false, std::optional<Fault> guards = {}) {
    auto checked = Check(std::move(work), gpu, std::move(guards));
    if (!checked) return {Verdict::kInfraError, "an Error: " + checked.error().message};
    if (*checked) return {Verdict::kOk, ""};
    return checked->error();
  }

  Events events;
  FakeReference reference;
  device::Bindings bindings;
  Precision precision = Precision::kTf32;
  EvalOptions options;
  CheckReport report;
};

TEST_F(TrialsTest, RunsTheCandidateBeforeTheReferenceInEveryTrial) {
  options.trials = 2;
  EXPECT_EQ(FaultOf(Right).verdict, Verdict::kOk);
  EXPECT_THAT(events, ElementsAre("inputs", "poison", "run", "synchronize", "guards", "forward",
                                  "inputs", "poison", "run", "synchronize", "guards", "forward"));
  EXPECT_EQ(report.trials, 2);
  EXPECT_EQ(report.passed, 2);
}

TEST_F(TrialsTest, TakesAFreshSeedForEachTrial) {
  (void)FaultOf(Right);
  (void)FaultOf(Right);
  EXPECT_EQ(std::set<uint64_t>(reference.seeds.begin(), reference.seeds.end()).size(), 10u);
}

TEST_F(TrialsTest, StopsAtTheFirstWrongTrialAndSaysWhich) {
  int run = 0;
  const Fault fault = FaultOf([&](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    if (++run == 3) out.mul_(2);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("In trial 3 of 5 (the earlier ones passed): out0 is wrong"));
  EXPECT_THAT(fault.message, HasSubstr("all elements are off by the constant factor 2.000"));
  EXPECT_EQ(report.passed, 2);
}

TEST_F(TrialsTest, SeesAnOutputThatWasNotWritten) {
  const Fault fault = FaultOf([](device::Bindings&, at::Tensor&) { return Checked<void>(); });
  EXPECT_EQ(fault.verdict, Verdict::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("every element is NaN: the output was never written"));
}

TEST_F(TrialsTest, SeesAChangedInputBeforeItRunsTheReference) {
  const Fault fault = FaultOf([](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    bound.inputs["x"][7][3] += 1e-6;
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kInputMutated);
  EXPECT_EQ(fault.message, "The candidate changed input x; inputs are read-only.");
  EXPECT_EQ(events.back(), "guards");
}

TEST_F(TrialsTest, SeesAChangedParameterAlsoWhereOnlyAZerosSignChanged) {
  reference.parameters().at("weight").narrow(0, 0, 1).zero_();
  bindings.parameters["weight"].narrow(0, 0, 1).zero_();
  const Fault fault = FaultOf([](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    bound.parameters["weight"].narrow(0, 0, 1).fill_(-0.0);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kInputMutated);
  EXPECT_EQ(fault.message, "The candidate changed parameter weight; parameters are read-only.");
}

TEST_F(TrialsTest, LetsRunningStatisticsBeWrittenAndPutsThemBackBeforeEachRun) {
  reference.WeightIsStatistic();
  const Fault fault = FaultOf([](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    bound.parameters["weight"].fill_(9);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kOk) << fault.message;
  EXPECT_EQ(report.passed, 5);
}

TEST_F(TrialsTest, ReportsGuardZonesBeforeResults) {
  const Fault fault = FaultOf([](device::Bindings&, at::Tensor&) { return Checked<void>(); }, false,
                              Fault{Verdict::kOutOfBounds, "past the end"});
  EXPECT_EQ(fault.verdict, Verdict::kOutOfBounds);
}

TEST_F(TrialsTest, PassesOnTheFaultOfARun) {
  const Fault fault = FaultOf([](device::Bindings&, at::Tensor&) {
    return Checked<void>(Blame(Verdict::kTimedOut, "too long"));
  });
  EXPECT_EQ(fault.verdict, Verdict::kTimedOut);
  EXPECT_EQ(fault.message, "too long");
}

TEST_F(TrialsTest, GivesTheReferencesErrorsToTheWorld) {
  reference.forward_error = Error{ErrorCode::kEnvironment, "out of memory"};
  auto checked = Check(Right);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kEnvironment);
  reference.inputs_error = Error{ErrorCode::kUsage, "model.py, line 3"};
  checked = Check(Right);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
}

TEST_F(TrialsTest, BlamesTheProblemWhoseSizesOrScalarsChange) {
  reference.rows = 9;
  auto checked = Check(Right);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
  reference.rows = 8;
  reference.scalar = 4;
  checked = Check(Right);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("get_inputs() gave n = 4, before it was 3."));
}

TEST_F(TrialsTest, AsksForEagersOwnTf32ErrorOnlyOnAGpuAndOnlyAfterAFailure) {
  const auto rounded = [](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    out.mul_(1.003);
    return Checked<void>();
  };
  options.trials = 1;
  EXPECT_EQ(FaultOf(rounded, /*gpu=*/true).verdict, Verdict::kOk);
  EXPECT_EQ(events.back(), "forward tf32");
  EXPECT_EQ(FaultOf(rounded, /*gpu=*/false).verdict, Verdict::kWrongResult);
  EXPECT_EQ(events.back(), "forward");
  precision = Precision::kFp32;
  EXPECT_EQ(FaultOf(rounded, /*gpu=*/true).verdict, Verdict::kWrongResult);
  precision = Precision::kTf32;
  EXPECT_EQ(FaultOf(Right, /*gpu=*/true).verdict, Verdict::kOk);
  EXPECT_EQ(events.back(), "forward");
}

TEST_F(TrialsTest, ChecksAReplayLikeARun) {
  FakeDevice device(&events, true);
  FakeRunner runner(&events, &bindings, Right);
  auto checked = CheckReplay(runner, device, bindings, reference, precision, options, &report);
  ASSERT_TRUE(checked);
  EXPECT_TRUE(*checked);
  EXPECT_THAT(events,
              ElementsAre("inputs", "poison", "replay", "synchronize", "guards", "forward"));
  FakeRunner idle(&events, &bindings,
                  [](device::Bindings&, at::Tensor&) { return Checked<void>(); });
  checked = CheckReplay(idle, device, bindings, reference, precision, options, &report);
  ASSERT_TRUE(checked);
  ASSERT_FALSE(*checked);
  EXPECT_THAT(checked->error().message, HasSubstr("Replayed as a CUDA graph: out0 is wrong"));
}

}  // namespace
}  // namespace cudaagent::verify
