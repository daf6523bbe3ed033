#include "measure/activity.h"

#include <gtest/gtest.h>

#include "measure/choose.h"

namespace cudaagent::measure {
namespace {

Activity Kernel(uint32_t correlation, uint64_t start, uint64_t end, const std::string& name = "k") {
  return {Activity::Kind::kKernel, correlation, start, end, name};
}

TEST(FootprintsTest, MatchesByCorrelationAndSpansAllStreams) {
  ActivityLog log;
  log.iteration = {{10, 1}, {11, 1}, {20, 2}};
  log.activities = {Kernel(20, 5000, 5100),
                    Kernel(11, 1050, 1300, "mine"),
                    Kernel(10, 1000, 1100),
                    {Activity::Kind::kFill, 99, 900, 990, ""}};
  const auto footprints = Footprints(log, {"mine"});
  ASSERT_EQ(footprints.size(), 2U) << "the fill belongs to no iteration";
  const Footprint& first = footprints.at(1);
  EXPECT_TRUE(first.measured);
  EXPECT_EQ(first.span_ns, 300);
  EXPECT_EQ(first.busy_ns, 350);
  EXPECT_EQ(first.own_busy_ns, 250);
  EXPECT_EQ(first.activities, 2);
  EXPECT_EQ(footprints.at(2).span_ns, 100);
}

TEST(FootprintsTest, CountsAGraphInTheSpanOnly) {
  ActivityLog log;
  log.iteration = {{7, 3}};
  log.activities = {{Activity::Kind::kGraph, 7, 100, 600, ""}};
  const Footprint footprint = Footprints(log, {}).at(3);
  EXPECT_TRUE(footprint.measured);
  EXPECT_EQ(footprint.span_ns, 500);
  EXPECT_EQ(footprint.busy_ns, 0);
  EXPECT_EQ(footprint.activities, 0);
}

TEST(FootprintsTest, TrustsNoZeroOrReversedTime) {
  ActivityLog log;
  log.iteration = {{1, 1}, {2, 2}, {3, 3}, {4, 3}};
  log.activities = {Kernel(1, 0, 100), Kernel(2, 200, 100), Kernel(3, 10, 20), Kernel(4, 30, 0)};
  for (const auto& [iteration, footprint] : Footprints(log, {})) {
    EXPECT_FALSE(footprint.measured) << iteration;
    EXPECT_EQ(footprint.span_ns, 0);
  }
}

Observations Observed(double event_ns, double span_ns, int count = 10) {
  Observations seen;
  for (int i = 0; i < count; ++i) {
    seen.event_ns.push_back(event_ns);
    if (span_ns <= 0) continue;
    seen.span_ns.push_back(span_ns);
    Footprint footprint;
    footprint.measured = true;
    footprint.span_ns = span_ns;
    footprint.busy_ns = span_ns / 2;
    footprint.activities = 3;
    seen.footprints.push_back(footprint);
  }
  return seen;
}

TEST(ChooseTest, TakesTheGraphsSpanAndCountsItsSteps) {
  const Samples samples = Choose(true, Observed(54000, 52000), {}, Observed(60000, 58000, 3), "");
  EXPECT_EQ(samples.clock, "cupti-graph");
  EXPECT_EQ(samples.span_ns.at(0), 52000);
  EXPECT_EQ(samples.event_ns.size(), 10U);
  EXPECT_EQ(samples.busy_ns, 29000);
  EXPECT_EQ(samples.activities, 3);
  EXPECT_EQ(samples.note, "");
}

TEST(ChooseTest, SaysWhereEventsDisagree) {
  const Samples samples = Choose(true, Observed(80000, 52000), {}, {}, "");
  EXPECT_EQ(samples.clock, "cupti-graph");
  EXPECT_EQ(samples.busy_ns, 0) << "not measured";
  EXPECT_EQ(samples.note, "CUDA events say 80.0 us, CUPTI 52.0 us");
}

TEST(ChooseTest, SaysWhereIterationsDidNotDoTheSameWork) {
  Observations steps = Observed(60000, 58000, 3);
  steps.footprints.back().activities = 4;
  EXPECT_EQ(Choose(true, Observed(54000, 52000), {}, steps, "").note,
            "between 3 and 4 device activities an iteration");
}

TEST(ChooseTest, TakesTheSmallerOfTracedSpanAndPlainEvents) {
  Samples samples = Choose(false, Observed(300000, 290000), Observed(250000, 0), {}, "");
  EXPECT_EQ(samples.clock, "cuda-events");
  EXPECT_EQ(samples.span_ns.at(0), 250000);
  EXPECT_EQ(samples.note, "tracing slows these launches: CUDA events without it decide");
  samples = Choose(false, Observed(9000, 5000), Observed(7400, 0), {}, "");
  EXPECT_EQ(samples.clock, "cupti-activity");
  EXPECT_EQ(samples.span_ns.at(0), 5000);
}

TEST(ChooseTest, LetsEventsDecideWithoutCupti) {
  const Samples samples = Choose(true, Observed(54000, 0), {}, {}, "CUPTI is taken.");
  EXPECT_EQ(samples.clock, "cuda-events");
  EXPECT_EQ(samples.span_ns.at(0), 54000);
  EXPECT_EQ(samples.note, "CUPTI is taken.");
}

TEST(ChooseTest, LetsEventsDecideWhereIterationsWereLost) {
  Observations seen = Observed(54000, 52000);
  seen.span_ns.resize(8);
  const Samples samples = Choose(true, seen, {}, {}, "");
  EXPECT_EQ(samples.clock, "cuda-events");
  EXPECT_EQ(samples.note, "CUPTI measured 8 of 10 iterations: CUDA events decide");
}

TEST(SlowedByTracingTest, NeedsBothSpanAndEventsToGrow) {
  EXPECT_TRUE(SlowedByTracing(250000, Observed(300000, 290000)));
  EXPECT_FALSE(SlowedByTracing(7400, Observed(9000, 5000))) << "the span is shorter anyway";
  EXPECT_FALSE(SlowedByTracing(290000, Observed(292000, 291000))) << "noise";
  EXPECT_FALSE(SlowedByTracing(100, {}));
}

TEST(CuptiTest, SaysWhyItIsNotUsed) {
  EXPECT_EQ(CuptiStatus(), "CUPTI was not initialised.");
  InitTiming();
  EXPECT_NE(CuptiStatus(), "CUPTI was not initialised.");
  EXPECT_FALSE(CuptiStatus().empty());
}

}  // namespace
}  // namespace cudaagent::measure
