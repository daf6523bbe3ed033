#include "measure/interleave.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>

namespace cudaagent::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Spans come from a function of (contender, iteration).
class FakeClock : public IterationClock {
 public:
  explicit FakeClock(size_t contenders, std::function<double(size_t, int)> span)
      : span_(std::move(span)), pending_(contenders), spans_(contenders), count_(contenders) {}
  Checked<void> Begin(size_t contender) override {
    log += "[" + std::to_string(contender);
    return {};
  }
  Checked<void> End(size_t contender) override {
    log += "]";
    pending_[contender].push_back(span_(contender, count_[contender]++));
    return {};
  }
  Checked<void> Collect() override {
    ++collects;
    for (size_t i = 0; i < spans_.size(); ++i) {
      spans_[i].insert(spans_[i].end(), pending_[i].begin(), pending_[i].end());
      pending_[i].clear();
    }
    return {};
  }
  bool TakeDisturbance() override { return disturbances-- > 0; }
  void Keep() override { kept_ = spans_; }
  void Drop() override {
    spans_ = kept_.empty() ? std::vector<std::vector<double>>(spans_.size()) : kept_;
  }
  const std::vector<double>& Spans(size_t contender) const override { return spans_[contender]; }

  int disturbances = 0;  // looks that find the device slowed down
  std::string log;
  int collects = 0;

 private:
  std::function<double(size_t, int)> span_;
  std::vector<std::vector<double>> pending_, spans_, kept_;
  std::vector<int> count_;
};

Contender Logging(const std::string& name, std::string* log) {
  Contender contender;
  contender.name = name;
  contender.prepare = [=]() -> Checked<void> {
    *log += "p";
    return {};
  };
  contender.run = [=]() -> Checked<void> {
    *log += name;
    return {};
  };
  return contender;
}

steady_clock::time_point Later() { return steady_clock::now() + std::chrono::hours(1); }

TEST(InterleaveTest, TakesTurnsAndPreparesOutsideTheWindow) {
  FakeClock clock(2, [](size_t, int) { return 1.0; });
  std::string& log = clock.log;
  ASSERT_TRUE(RunRounds({Logging("a", &log), Logging("b", &log)}, 2, &clock));
  EXPECT_EQ(log, "p[0a]p[1b]p[0a]p[1b]");
  EXPECT_EQ(clock.collects, 1);
}

TEST(InterleaveTest, StopsAtTheLeastWhenSpansAgree) {
  FakeClock clock(1, [](size_t, int i) { return 100.0 + 0.1 * (i % 3); });
  std::string log;
  EvalOptions options;
  ASSERT_TRUE(RunUntilNarrow({Logging("a", &log)}, options, Later(), &clock));
  EXPECT_EQ(clock.Spans(0).size(), static_cast<size_t>(options.min_iterations));
}

TEST(InterleaveTest, GoesOnWhileAnyContenderIsNoisyAndStopsAtTheMost) {
  FakeClock clock(2, [](size_t contender, int i) {
    return contender == 0 ? 100.0 : 100.0 + 40.0 * ((i * 7) % 11);
  });
  std::string log;
  EvalOptions options;
  options.max_iterations = 60;
  ASSERT_TRUE(RunUntilNarrow({Logging("a", &log), Logging("b", &log)}, options, Later(), &clock));
  EXPECT_EQ(clock.Spans(0).size(), 60U);
  EXPECT_EQ(clock.Spans(1).size(), 60U);
  EXPECT_LT(clock.collects, 15);
}

TEST(InterleaveTest, BlocksOfASlowedDownDeviceAreDroppedAndRepeated) {
  // Iterations are twice as slow until the second block.
  EvalOptions options;
  const int block = options.min_iterations;
  FakeClock clock(1, [block](size_t, int i) { return i < 2 * block ? 200.0 : 100.0; });
  clock.disturbances = 2;
  std::string log;
  auto report = RunUntilNarrow({Logging("a", &log)}, options, Later(), &clock);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->dropped_blocks, 2);
  EXPECT_FALSE(report->disturbed);
  EXPECT_EQ(clock.Spans(0), std::vector<double>(block, 100.0));
}

TEST(InterleaveTest, ADeviceThatStaysSlowedDownIsTimedAndToldSo) {
  FakeClock clock(1, [](size_t, int) { return 200.0; });
  clock.disturbances = 1000;
  std::string log;
  auto report = RunUntilNarrow({Logging("a", &log)}, EvalOptions{}, Later(), &clock);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->dropped_blocks, kMostDroppedBlocks);
  EXPECT_TRUE(report->disturbed);
  EXPECT_FALSE(clock.Spans(0).empty());
}

TEST(InterleaveTest, StopsAtTheDeadlineButNotBeforeThreeRounds) {
  FakeClock clock(1, [](size_t, int i) { return 100.0 + 50 * (i % 5); });
  std::string log;
  Contender slow = Logging("a", &log);
  slow.run = []() -> Checked<void> {
    std::this_thread::sleep_for(milliseconds(20));
    return {};
  };
  ASSERT_TRUE(RunUntilNarrow({slow}, EvalOptions{}, steady_clock::now() + milliseconds(1), &clock));
  EXPECT_EQ(clock.Spans(0).size(), 3U);
}

TEST(InterleaveTest, InspectsSecretIterationsAndTheLast) {
  std::set<std::string> patterns;
  for (int i = 0; i < 20; ++i) {
    FakeClock clock(1, [](size_t, int) { return 100.0; });
    std::string& log = clock.log;
    Contender watched = Logging("a", &log);
    watched.inspect = [&]() -> Checked<void> {
      log += "!";
      return {};
    };
    ASSERT_TRUE(RunUntilNarrow({watched}, EvalOptions{}, Later(), &clock));
    EXPECT_EQ(log.back(), '!');
    EXPECT_GE(std::count(log.begin(), log.end(), '!'), kSecretInspections);
    patterns.insert(log);
  }
  EXPECT_GT(patterns.size(), 3U);  // not the same iterations every time
}

TEST(InterleaveTest, EndsWhereAnInspectionFindsFault) {
  FakeClock clock(1, [](size_t, int) { return 100.0; });
  Contender watched = Logging("a", &clock.log);
  watched.inspect = []() -> Checked<void> { return Blame(Verdict::kSuspectedHack, "caught"); };
  auto done = RunUntilNarrow({watched}, EvalOptions{}, Later(), &clock);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "caught");
}

TEST(InterleaveTest, EndsWithTheFirstFault) {
  FakeClock clock(2, [](size_t, int) { return 1.0; });
  std::string& log = clock.log;
  Contender broken = Logging("b", &log);
  broken.run = []() -> Checked<void> { return Blame(Verdict::kDeviceFault, "broken"); };
  auto done = RunUntilNarrow({Logging("a", &log), broken}, EvalOptions{}, Later(), &clock);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "broken");
  EXPECT_EQ(log, "p[0a]p[1");
}

}  // namespace
}  // namespace cudaagent::measure
