#include "pool/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "pool/environment.h"
#include "processes.h"
#include "util/file.h"

namespace cudaagent::pool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ChildTest : public ::testing::Test {
 protected:
  // No test may leave a child, alive or a zombie.
  void TearDown() override {
    child_.reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

  Result<protocol::Hello> Start(const std::string& mode, double hello_s = 10) {
    ChildOptions options;
    options.program = BadChild();
    options.kind = "worker";
    options.environment = ChildEnvironment();
    options.environment.push_back("MISBEHAVE=" + mode);
    options.log_path = folder_.path() + "/child.log";
    Result<std::unique_ptr<Child>> child = Child::Spawn(std::move(options));
    if (!child) return tl::unexpected(child.error());
    child_ = std::move(*child);
    return child_->AwaitHello(util::Deadline::After(hello_s));
  }

  // Starts it, gives it a job and waits for the answer.
  tl::expected<protocol::FromChild, Trouble> Ask(const std::string& mode, double check_s = 10) {
    const Result<protocol::Hello> hello = Start(mode);
    EXPECT_TRUE(hello) << hello.error().message;
    const auto sent = child_->Send(protocol::Encode(protocol::ToWorker(protocol::BaselineJob{})));
    EXPECT_TRUE(sent);
    return child_->Receive("load", {{"load", 10}, {"check", check_s}, {"time", 0.3}});
  }

  std::string AskText(const std::string& mode) {
    const auto answer = Ask(mode);
    if (!answer) return "trouble: " + answer.error().words;
    return std::get<protocol::ErrorReply>(*answer).error.message;
  }

  util::TempDir folder_ = std::move(*util::TempDir::Create("child-test"));
  std::unique_ptr<Child> child_;
};

TEST_F(ChildTest, AnswersAJobAfterItsStages) { EXPECT_EQ(AskText("good"), "well"); }

TEST_F(ChildTest, ReportsASegmentationFaultAsDeathBySignal) {
  const auto answer = Ask("segv");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Trouble::Kind::kDied);
  EXPECT_EQ(answer.error().words, "was killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(answer.error().stage, "load");
  EXPECT_FALSE(child_->alive());
}

TEST_F(ChildTest, CountsExitZeroWithoutAnAnswerAsDeath) {
  const auto answer = Ask("exit0");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Trouble::Kind::kDied);
  EXPECT_EQ(answer.error().words, "exited with status 0");
}

TEST_F(ChildTest, KillsOneThatHangsAndNamesTheStage) {
  const auto answer = Ask("hang_in_time");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Trouble::Kind::kTimedOut);
  EXPECT_EQ(answer.error().stage, "time");
  EXPECT_DOUBLE_EQ(answer.error().limit_s, 0.3);
  EXPECT_FALSE(child_->alive());
}

TEST_F(ChildTest, AStageEnteredAgainKeepsItsClock) {
  const util::Stopwatch watch;
  const auto answer = Ask("stage_forever", 0.3);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Trouble::Kind::kTimedOut);
  EXPECT_LT(watch.Seconds(), 5);
}

TEST_F(ChildTest, EndsOneThatIgnoresSigterm) {
  ASSERT_TRUE(Start("ignores_term"));
  const pid_t pid = child_->pid();
  child_->Stop();
  EXPECT_TRUE(Gone(pid));
  EXPECT_FALSE(child_->unkillable());
}

TEST_F(ChildTest, StopsAGoodOneWithoutForce) {
  ASSERT_TRUE(Start("good"));
  const util::Stopwatch watch;
  child_->Stop();
  EXPECT_LT(watch.Seconds(), 1.5);
}

TEST_F(ChildTest, RefusesGarbage) {
  const auto answer = Ask("garbage");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Trouble::Kind::kBroken);
  EXPECT_EQ(answer.error().words, "sent nonsense (A message is not valid JSON)");
}

TEST_F(ChildTest, RefusesAnUnknownType) {
  EXPECT_EQ(AskText("unknown_type"),
            "trouble: sent nonsense (A message has the unknown type \"x\")");
}

TEST_F(ChildTest, RefusesAnUnknownStage) {
  EXPECT_EQ(AskText("unknown_stage"), "trouble: entered the unknown stage \"party\"");
}

TEST_F(ChildTest, RefusesHalfAFrame) {
  const auto answer = Ask("half_frame");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Trouble::Kind::kBroken);
  EXPECT_EQ(answer.error().words, "broke off: the stream ended after 4 of 100 bytes");
}

TEST_F(ChildTest, RefusesAHugeFrame) {
  EXPECT_EQ(AskText("huge_frame"),
            "trouble: broke off: a frame claims 2147483647 bytes, more than the 67108864 allowed");
}

TEST_F(ChildTest, SurvivesJsonNestedMillionsDeep) {
  EXPECT_EQ(AskText("deep_frame"), "trouble: sent nonsense (A message is nested too deep)");
}

TEST_F(ChildTest, KillsOneThatClosesItsSocketAndStays) {
  EXPECT_EQ(AskText("closes_and_stays"), "trouble: stopped talking and had to be killed");
  EXPECT_FALSE(child_->alive());
}

TEST_F(ChildTest, NoHelloIsASetUpFailureWithTheLogsTail) {
  const Result<protocol::Hello> hello = Start("no_hello");
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(hello.error().message, HasSubstr("exited with status 3 before it said hello."));
  EXPECT_THAT(hello.error().message, HasSubstr("  mode no_hello"));
}

TEST_F(ChildTest, ASlowHelloIsWaitedForWithinItsDeadline) { EXPECT_TRUE(Start("slow_hello", 10)); }

TEST_F(ChildTest, AHelloThatNeverComesIsASetUpFailure) {
  const Result<protocol::Hello> hello = Start("silent", 0.2);
  ASSERT_FALSE(hello);
  EXPECT_EQ(hello.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(hello.error().message, HasSubstr("did not say hello within 200 ms."));
}

TEST_F(ChildTest, RefusesAnotherProtocolVersion) {
  const Result<protocol::Hello> hello = Start("wrong_version");
  ASSERT_FALSE(hello);
  EXPECT_THAT(hello.error().message,
              HasSubstr("speaks protocol version 7, this program speaks 2. Build and install the "
                        "three programs together."));
}

TEST_F(ChildTest, RefusesAnotherProgram) {
  EXPECT_THAT(Start("other_program").error().message,
              HasSubstr("says it is the program \"something\", not \"worker\"."));
}

TEST_F(ChildTest, RefusesAReplyInPlaceOfAHello) {
  EXPECT_THAT(Start("hello_is_reply").error().message,
              HasSubstr("sent another message before its hello."));
}

TEST_F(ChildTest, NoticesOneThatDiedIdle) {
  ASSERT_TRUE(Start("dies_idle"));
  for (int i = 0; i < 500 && child_->alive(); ++i) ::usleep(10'000);
  EXPECT_FALSE(child_->alive());
  EXPECT_FALSE(child_->Send("{}"));
}

TEST_F(ChildTest, AProgramThatIsNotThereIsNamed) {
  ChildOptions options;
  options.program = "/nowhere/cudaagent-worker";
  const auto child = Child::Spawn(options);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(child.error().message,
            "Cannot start /nowhere/cudaagent-worker: No such file or directory.");
}

TEST_F(ChildTest, NoKeyOfTheParentReachesTheChild) {
  ::setenv("OPENAI_API_KEY", "sk-secret", 1);
  ::setenv("CUDA_API_KEY", "sk-secret", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  const std::string environment = AskText("env");
  ::unsetenv("OPENAI_API_KEY");
  ::unsetenv("CUDA_API_KEY");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(environment, Not(HasSubstr("sk-secret")));
  EXPECT_THAT(environment, Not(HasSubstr("API_KEY")));
  EXPECT_THAT(environment, HasSubstr("CUDA_VISIBLE_DEVICES=0\n"));
  EXPECT_THAT(environment, HasSubstr("PATH="));
}

TEST_F(ChildTest, TheChildHasFourDescriptorsAndNoMore) {
  const int extra = ::open("/dev/null", O_RDONLY);  // without close-on-exec
  EXPECT_EQ(AskText("fds"), "0 1 2 3 ");
  ::close(extra);
}

TEST_F(ChildTest, KillTakesTheWholeGroup) {
  const auto answer = Ask("grandchild");
  ASSERT_TRUE(answer);
  const pid_t group = child_->pid();
  child_->Kill();
  for (int i = 0; i < 500 && ::kill(-group, 0) == 0; ++i) ::usleep(10'000);
  EXPECT_EQ(::kill(-group, 0), -1);
}

TEST_F(ChildTest, AKilledDriverLeavesNoChild) {
  const std::string command = std::string(CUDAAGENT_BIN_DIR) + "/killed_driver " + BadChild() +
                              " " + folder_.path() + " & echo $!; wait";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  int driver = 0, worker = 0, spare = 0;
  ASSERT_EQ(std::fscanf(pipe, "%d %d %d", &driver, &worker, &spare), 3);
  ASSERT_GT(spare, 0);
  EXPECT_EQ(::kill(worker, 0), 0);
  ::kill(driver, SIGKILL);
  EXPECT_TRUE(Gone(worker));
  EXPECT_TRUE(Gone(spare));
  ::pclose(pipe);
}

TEST(ChildEnvironmentTest, PassesOnlyAllowedNames) {
  const char* const environment[] = {
      "PATH=/bin",           "OPENAI_API_KEY=a",  "LC_ALL=C",     "AWS_SECRET=b", "CUDA_HOME=/c",
      "TRITON_CACHE_DIR=/t", "TORCH_HUB_TOKEN=c", "LD_PRELOAD=x", "NOEQUALS",     nullptr};
  EXPECT_THAT(
      ChildEnvironment(environment),
      ::testing::ElementsAre("PATH=/bin", "LC_ALL=C", "CUDA_HOME=/c", "TRITON_CACHE_DIR=/t"));
}

}  // namespace
}  // namespace cudaagent::pool
