#include "util/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <thread>

#include "util/file.h"
#include "util/log.h"
#include "util/time.h"

namespace cudaagent::util {
namespace {

class SubprocessTest : public ::testing::Test {
 protected:
  Result<Subprocess> Shell(const std::string& script) {
    SpawnOptions options;
    options.argv = {"/bin/sh", "-c", script};
    options.environment = {"PATH=/usr/bin:/bin", "GREETING=hello there"};
    options.log_path = folder_.path() + "/log";
    options.working_dir = folder_.path();
    return Subprocess::Spawn(options);
  }
  std::string Log() { return ReadTail(folder_.path() + "/log", 1000); }

  TempDir folder_ = std::move(*TempDir::Create("subprocess-test"));
};

TEST_F(SubprocessTest, SaysHowTheChildEnded) {
  EXPECT_EQ(Shell("exit 3")->Wait(10)->InWords(), "exited with status 3");
  EXPECT_EQ(Shell("kill -TERM $$")->Wait(10)->InWords(), "was killed by signal 15 (SIGTERM)");
}

TEST_F(SubprocessTest, GivesTheChildExactlyItsEnvironmentFolderLogAndSocket) {
  Result<Subprocess> child = Shell(
      "echo \"$GREETING\"; pwd; echo oops >&2; echo socket >&3; ulimit -c; read x || echo eof");
  ASSERT_TRUE(child);
  char text[6];
  EXPECT_EQ(::recv(child->socket(), text, sizeof text, MSG_WAITALL), 6);
  ASSERT_TRUE(child->Wait(10));
  EXPECT_EQ(Log(), "hello there\n" + folder_.path() + "\noops\n0\neof\n");
}

TEST_F(SubprocessTest, AnswersTheSameAfterTheChildWasReaped) {
  Result<Subprocess> child = Shell("exit 4");
  EXPECT_EQ(child->Wait(10)->code, 4);
  EXPECT_FALSE(child->running());
  EXPECT_EQ(child->Wait(0)->code, 4);
  child->Signal(SIGKILL);  // must not reach anybody else
}

TEST_F(SubprocessTest, WaitGivesUpInTimeAndKillEndsIt) {
  Result<Subprocess> child = Shell("sleep 100");
  const Stopwatch watch;
  EXPECT_FALSE(child->Wait(0.05));
  EXPECT_EQ(child->Kill(10)->InWords(), "was killed by signal 9 (SIGKILL)");
  EXPECT_LT(watch.Seconds(), 10);
}

TEST_F(SubprocessTest, TheEndOfTheLeaderEndsItsGroup) {
  Result<Subprocess> child = Shell("sleep 100 & echo $!; exit 0");
  ASSERT_TRUE(child->Wait(10));
  const int grandchild = std::atoi(Log().c_str());
  ASSERT_GT(grandchild, 0);
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    const std::string stat = ReadFile("/proc/" + std::to_string(grandchild) + "/stat").value_or("");
    gone = stat.empty() || stat.find(") Z") != std::string::npos;
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone);
}

TEST_F(SubprocessTest, AChildOutlivesTheThreadThatStartedIt) {
  Result<Subprocess> child = Fail(ErrorCode::kInternal, "");
  std::thread([&] { child = Shell("sleep 100"); }).join();
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->Wait(0.2));
}

TEST_F(SubprocessTest, SpawnsFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> codes(16, -1);
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] { codes[i] = Shell("exit " + std::to_string(i))->Wait(20)->code; });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(codes[i], i);
}

TEST_F(SubprocessTest, AFolderThatIsNotThereIsAnError) {
  SpawnOptions options;
  options.argv = {"/bin/sh"};
  options.working_dir = "/nowhere";
  EXPECT_EQ(Subprocess::Spawn(options).error().message,
            "Cannot start /bin/sh: No such file or directory.");
}

TEST(LogTest, KnowsItsLevels) {
  EXPECT_TRUE(SetLogLevel("debug"));
  EXPECT_TRUE(SetLogLevel("warn"));
  EXPECT_EQ(SetLogLevel("loud").error().message,
            "\"loud\" is no log level; there are debug, info, warn, error, off.");
}

}  // namespace
}  // namespace cudaagent::util
