#include "pool/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "processes.h"
#include "util/file.h"

namespace cudaagent::pool {
namespace {

using ::testing::HasSubstr;

class CompilerPoolTest : public ::testing::Test {
 protected:
  CompilerOptions Options(const std::string& mode = "good") {
    CompilerOptions options;
    options.program = BadChild();
    options.cache_dir = folder_.path() + "/cache";
    options.log_dir = folder_.path();
    options.environment = {"MISBEHAVE=" + mode};
    options.hello_s = 10;
    options.grace_s = 0.1;
    return options;
  }

  static protocol::CompileJob Job(const std::string& source, double timeout_s = 20) {
    protocol::CompileJob job;
    job.source = source;
    job.timeout_s = timeout_s;
    return job;
  }

  util::TempDir folder_ = std::move(*util::TempDir::Create("compiler-test"));
};

TEST_F(CompilerPoolTest, AnswersEveryJobInFlightWithItsOwnReply) {
  CompilerPool pool(Options());
  ASSERT_TRUE(pool.AwaitReady());
  std::vector<std::future<Result<protocol::CompileReply>>> replies;
  for (int i = 0; i < 20; ++i) replies.push_back(pool.Submit(Job("job " + std::to_string(i))));
  for (int i = 0; i < 20; ++i) {
    const auto reply = replies[i].get();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->message, "job " + std::to_string(i));
  }
}

TEST_F(CompilerPoolTest, TakesJobsBeforeTheCompilerIsReady) {
  CompilerPool pool(Options("slow_hello"));
  EXPECT_EQ(pool.Submit(Job("early")).get()->message, "early");
}

TEST_F(CompilerPoolTest, SendsAJobOnceMoreToANewCompilerWhenTheFirstDied) {
  CompilerPool pool(Options());
  ASSERT_TRUE(pool.AwaitReady());
  const pid_t first = pool.pid();
  const auto reply = pool.Submit(Job("die once")).get();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->ok);
  EXPECT_NE(pool.pid(), first);
}

TEST_F(CompilerPoolTest, AJobThatKillsTwoCompilersIsAnInfraErrorAndTheNextWorks) {
  CompilerPool pool(Options());
  const auto reply = pool.Submit(Job("die")).get();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->ok);
  EXPECT_EQ(reply->verdict, Verdict::kInfraError);
  EXPECT_EQ(
      reply->message,
      "The compiler was killed by signal 11 (SIGSEGV), twice, with this candidate in flight.");
  EXPECT_TRUE(pool.Submit(Job("next")).get()->ok);
}

TEST_F(CompilerPoolTest, KillsACompilerThatHangs) {
  CompilerPool pool(Options());
  ASSERT_TRUE(pool.AwaitReady());
  const auto reply = pool.Submit(Job("hang", 0.1)).get();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->message,
            "The compiler did not answer in time and was killed, twice, with this candidate in "
            "flight.");
  EXPECT_TRUE(pool.Submit(Job("next")).get()->ok);
}

TEST_F(CompilerPoolTest, WaitingBehindOtherJobsIsNotHanging) {
  CompilerPool pool(Options());
  ASSERT_TRUE(pool.AwaitReady());
  const pid_t first = pool.pid();
  std::vector<std::future<Result<protocol::CompileReply>>> replies;
  for (int i = 0; i < 5; ++i) replies.push_back(pool.Submit(Job("slow", 0.6)));  // 1.5 s in all
  for (auto& reply : replies) EXPECT_TRUE(reply.get()->ok);
  EXPECT_EQ(pool.pid(), first);
}

TEST_F(CompilerPoolTest, AnAnswerToNoJobEndsTheCompiler) {
  CompilerPool pool(Options());
  EXPECT_EQ(pool.Submit(Job("wrong id")).get()->message,
            "The compiler sent an answer nobody asked for, twice, with this candidate in flight.");
}

TEST_F(CompilerPoolTest, RestartsOneThatDiedIdle) {
  CompilerPool pool(Options());
  ASSERT_TRUE(pool.AwaitReady());
  ::kill(pool.pid(), SIGKILL);
  EXPECT_TRUE(pool.Submit(Job("next")).get()->ok);
}

TEST_F(CompilerPoolTest, ACompilerThatNeverSaysHelloFailsEveryJobWithItsLog) {
  CompilerPool pool(Options("no_hello"));
  const auto ready = pool.AwaitReady();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(ready.error().message, HasSubstr("mode no_hello"));
  const auto reply = pool.Submit(Job("x")).get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message, ready.error().message);
}

TEST_F(CompilerPoolTest, DestructionCancelsWhatIsInFlightAndLeavesNoChild) {
  std::future<Result<protocol::CompileReply>> reply;
  {
    CompilerPool pool(Options());
    ASSERT_TRUE(pool.AwaitReady());
    reply = pool.Submit(Job("hang", 60));
    ::usleep(50'000);
  }
  EXPECT_EQ(reply.get().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(Children(), 0);
}

TEST_F(CompilerPoolTest, DestructionDoesNotWaitForAHello) {
  const util::Stopwatch watch;
  {
    CompilerPool pool(Options("silent"));
    ::usleep(50'000);
  }
  EXPECT_LT(watch.Seconds(), 5);
  EXPECT_EQ(Children(), 0);
}

}  // namespace
}  // namespace cudaagent::pool
