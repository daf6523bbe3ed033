#include "pool/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "processes.h"
#include "util/file.h"

namespace cudaagent::pool {
namespace {

using ::testing::HasSubstr;

class WorkerTest : public ::testing::Test {
 protected:
  WorkerOptions Options(const std::string& mode) {
    WorkerOptions options;
    options.program = BadChild();
    options.device = "cpu";
    options.model_gpu = "h200";
    options.log_dir = folder_.path();
    options.environment = {"MISBEHAVE=" + mode};
    options.hello_s = 10;
    return options;
  }

  tl::expected<protocol::FromChild, Trouble> Run(Worker& worker) {
    const auto sent = worker.Begin(protocol::BaselineJob{});
    if (!sent) return tl::unexpected(sent.error());
    return worker.Finish("check", {{"check", 5}});
  }

  util::TempDir folder_ = std::move(*util::TempDir::Create("worker-test"));
};

TEST_F(WorkerTest, GoesFromAbsentThroughStartingAndBusyToIdle) {
  Worker worker(Options("good"));
  EXPECT_EQ(worker.state(), WorkerState::kAbsent);
  ASSERT_TRUE(worker.Launch());
  EXPECT_EQ(worker.state(), WorkerState::kStarting);
  ASSERT_TRUE(worker.AwaitHello());
  EXPECT_EQ(worker.state(), WorkerState::kIdle);
  ASSERT_TRUE(worker.Begin(protocol::BaselineJob{}));
  EXPECT_EQ(worker.state(), WorkerState::kBusy);
  ASSERT_TRUE(worker.Finish("check", {{"check", 5}}));
  EXPECT_EQ(worker.state(), WorkerState::kIdle);
  EXPECT_EQ(worker.answers(), 1);
}

TEST_F(WorkerTest, IsAbsentAfterACrashAndStartsAgain) {
  Worker worker(Options("segv"));
  ASSERT_TRUE(worker.Launch());
  ASSERT_TRUE(worker.AwaitHello());
  EXPECT_FALSE(Run(worker));
  EXPECT_EQ(worker.state(), WorkerState::kAbsent);
  ASSERT_TRUE(worker.Launch());
  EXPECT_TRUE(worker.AwaitHello());
  EXPECT_EQ(worker.answers(), 0);
}

TEST_F(WorkerTest, ASpareWaitsForItsFirstJobBeforeItSaysHello) {
  Worker worker(Options("good"));
  worker.EnsureSpare();
  const pid_t spare = worker.spare_pid();
  ASSERT_GT(spare, 0);
  const std::string log = folder_.path() + "/worker-1.log";
  for (int i = 0; i < 500 && util::ReadTail(log, 100).empty(); ++i) ::usleep(10'000);
  ::usleep(50'000);
  EXPECT_EQ(util::ReadTail(log, 100), "mode good\n");
  ASSERT_TRUE(worker.Launch());
  EXPECT_EQ(worker.pid(), spare);
  EXPECT_FALSE(worker.has_spare());
  EXPECT_TRUE(Run(worker));
  EXPECT_EQ(worker.state(), WorkerState::kIdle);
}

TEST_F(WorkerTest, ADeadSpareIsReplacedByAFreshWorker) {
  Worker worker(Options("good"));
  worker.EnsureSpare();
  const pid_t spare = worker.spare_pid();
  ::kill(spare, SIGKILL);
  for (int i = 0; i < 500 && worker.has_spare(); ++i) ::usleep(10'000);
  ASSERT_TRUE(worker.Launch());
  EXPECT_NE(worker.pid(), spare);
  EXPECT_TRUE(worker.AwaitHello());
}

TEST_F(WorkerTest, ASpareWhoseHelloIsWrongIsTroubleInStageHello) {
  Worker worker(Options("wrong_version"));
  worker.EnsureSpare();
  ASSERT_TRUE(worker.Launch());
  const auto answer = Run(worker);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().stage, "hello");
  EXPECT_THAT(answer.error().words, HasSubstr("speaks protocol version 7"));
}

TEST_F(WorkerTest, LeavesNeitherWorkerNorSpareBehind) {
  pid_t pid = 0, spare = 0;
  {
    Worker worker(Options("ignores_term"));
    ASSERT_TRUE(worker.Launch());
    ASSERT_TRUE(worker.AwaitHello());
    worker.EnsureSpare();
    pid = worker.pid();
    spare = worker.spare_pid();
  }
  EXPECT_TRUE(Gone(pid));
  EXPECT_TRUE(Gone(spare));
  EXPECT_EQ(Children(), 0);
}

}  // namespace
}  // namespace cudaagent::pool
