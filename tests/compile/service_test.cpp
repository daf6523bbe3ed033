// The program itself, over its socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "compile/options.h"
#include "protocol/frame.h"
#include "protocol/messages.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"
#include "util/time.h"

namespace cudaagent::compile {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    auto dir = util::TempDir::Create("compile-service");
    if (!dir) throw FatalError(dir.error().message);
    dir_ = std::make_unique<util::TempDir>(std::move(*dir));
  }

  util::Subprocess Start(std::vector<std::string> arguments = {}) {
    util::SpawnOptions options;
    options.argv = {std::string(CUDAAGENT_BIN_DIR) + "/cudaagent-compile", "--cache-dir",
                    dir_->path() + "/cache"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.environment = {"PATH=/usr/bin:/bin", "HOME=" + dir_->path()};
    options.log_path = dir_->path() + "/log";
    auto process = util::Subprocess::Spawn(options);
    if (!process) throw FatalError(process.error().message);
    return std::move(*process);
  }

  template <typename Message>
  static Message Receive(util::Subprocess& process) {
    const auto read = protocol::ReadFrame(process.socket(), steady_clock::now() + seconds(120));
    EXPECT_EQ(read.status, protocol::ReadStatus::kFrame) << read.problem;
    auto message = protocol::DecodeFromChild(read.payload);
    if (!message || !std::holds_alternative<Message>(*message)) {
      ADD_FAILURE() << read.payload;
      return {};
    }
    return std::get<Message>(*message);
  }

  static void Send(util::Subprocess& process, const protocol::ToCompiler& message) {
    ASSERT_TRUE(protocol::WriteFrame(process.socket(), protocol::Encode(message)).has_value());
  }

  static protocol::CompileJob Job(int64_t id, const std::string& code) {
    protocol::CompileJob job;
    job.id = id;
    job.source = code;
    job.arch = "sm_90a";
    job.kernels = {"k"};
    return job;
  }

  static int64_t ResidentKib(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (util::StartsWith(line, "VmRSS:")) return std::stoll(line.substr(6));
    }
    return 0;
  }

  static std::vector<pid_t> ChildrenOf(pid_t pid) {
    std::vector<pid_t> children;
    std::ifstream list("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) +
                       "/children");
    for (pid_t child; list >> child;) children.push_back(child);
    return children;
  }

  static bool Alive(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    return std::getline(stat, text) && text.find(") Z ") == std::string::npos;
  }

  std::unique_ptr<util::TempDir> dir_;
};

constexpr const char* kBomb =
    "template <int N, int M> struct S { static constexpr long v = S<N - 1, M>::v + S<N - 1, M + (1 "
    "<< N)>::v; };\n"
    "template <int M> struct S<0, M> { static constexpr long v = M; };\n"
    "__global__ void k(long* p) { *p = S<25, 0>::v; }\n";

TEST_F(ServiceTest, SaysHelloThenAnswersThenEndsOnShutdown) {
  auto process = Start();
  const auto hello = Receive<protocol::Hello>(process);
  EXPECT_EQ(hello.program, "compile");
  EXPECT_EQ(hello.protocol_version, protocol::kProtocolVersion);
  EXPECT_EQ(hello.pid, process.pid());
  EXPECT_NE(hello.nvrtc_version, "");
  Send(process, Job(7, "__global__ void k(int* p) { *p = 1; }"));
  const auto reply = Receive<protocol::CompileReply>(process);
  EXPECT_TRUE(reply.ok) << reply.message;
  EXPECT_EQ(reply.id, 7);
  Send(process, protocol::Shutdown{});
  const auto death = process.Wait(10);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->InWords(), "exited with status 0");
  EXPECT_TRUE(std::filesystem::is_empty(dir_->path() + "/cache/tmp"));
}

TEST_F(ServiceTest, RepliesCarryTheirIdsInAnyOrder) {
  auto process = Start({"--jobs", "3"});
  Receive<protocol::Hello>(process);
  auto slow = Job(1, kBomb);
  slow.timeout_s = 15;
  Send(process, slow);
  Send(process, Job(2, "__global__ void k(int* p) { *p = 2; }"));
  Send(process, Job(3, "__global__ void k(int* p) { *p = }"));
  std::map<int64_t, Verdict> verdicts;
  for (int i = 0; i < 3; ++i) {
    const auto reply = Receive<protocol::CompileReply>(process);
    if (i == 0) {
      EXPECT_NE(reply.id, 1);
    }
    verdicts[reply.id] = reply.verdict;
  }
  EXPECT_EQ(verdicts[1], Verdict::kCompileFailed);
  EXPECT_EQ(verdicts[2], Verdict::kOk);
  EXPECT_EQ(verdicts[3], Verdict::kCompileFailed);
}

TEST_F(ServiceTest, NothingOutlivesTheEndOfTheStream) {
  auto process = Start();
  Receive<protocol::Hello>(process);
  Send(process, Job(1, kBomb));
  std::vector<pid_t> children;
  const auto deadline = util::Deadline::After(20);
  while ((children = ChildrenOf(process.pid())).empty() && !deadline.Passed()) ::usleep(10000);
  ASSERT_FALSE(children.empty());
  process.CloseSocket();
  const auto death = process.Wait(10);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->InWords(), "exited with status 0");
  for (const pid_t child : children) EXPECT_FALSE(Alive(child));
}

TEST_F(ServiceTest, ChildrenDieWithAKilledParentAndTheNextOneCleansUp) {
  auto process = Start();
  Receive<protocol::Hello>(process);
  Send(process, Job(1, kBomb));
  std::vector<pid_t> children;
  const auto deadline = util::Deadline::After(20);
  while ((children = ChildrenOf(process.pid())).empty() && !deadline.Passed()) ::usleep(10000);
  ASSERT_FALSE(children.empty());
  ::kill(process.pid(), SIGKILL);
  process.Wait(10);
  const auto gone = util::Deadline::After(5);
  for (const pid_t child : children) {
    while (Alive(child) && !gone.Passed()) ::usleep(10000);
    EXPECT_FALSE(Alive(child));
  }
  auto next = Start();
  Receive<protocol::Hello>(next);
  int runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_->path() + "/cache/scratch")) {
    runs += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(runs, 1);
}

TEST_F(ServiceTest, GarbageFromTheDriverEndsItWithStatusThree) {
  auto process = Start();
  Receive<protocol::Hello>(process);
  ASSERT_TRUE(protocol::WriteFrame(process.socket(), "{\"type\": \"nonsense\"}").has_value());
  const auto death = process.Wait(10);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->InWords(), "exited with status 3");
}

TEST_F(ServiceTest, AMissingNvrtcIsSaidAndEndsItWithStatusSix) {
  auto process = Start({"--nvrtc", "/nonexistent/libnvrtc.so.13"});
  const auto error = Receive<protocol::ErrorReply>(process);
  EXPECT_EQ(error.error.code, ErrorCode::kEnvironment);
  EXPECT_THAT(error.error.message, testing::HasSubstr("/nonexistent/libnvrtc.so.13"));
  const auto death = process.Wait(10);
  ASSERT_TRUE(death);
  EXPECT_EQ(death->InWords(), "exited with status 6");
}

TEST_F(ServiceTest, TwoHundredCompilesLeaveItsMemoryFlat) {
  auto process = Start();
  Receive<protocol::Hello>(process);
  int64_t after_warm_up = 0;
  for (int i = 0; i < 220; ++i) {
    Send(process, Job(i, "__global__ void k(int* p) { *p = " + std::to_string(i) + "; }"));
    EXPECT_TRUE(Receive<protocol::CompileReply>(process).ok);
    if (i == 19) after_warm_up = ResidentKib(process.pid());
  }
  EXPECT_LE(ResidentKib(process.pid()), after_warm_up * 105 / 100);
}

TEST_F(ServiceTest, TwoCompilersShareOneCache) {
  auto first = Start(), second = Start();
  Receive<protocol::Hello>(first);
  Receive<protocol::Hello>(second);
  for (int i = 0; i < 10; ++i) {
    const auto job = Job(i, "__global__ void k(int* p) { *p = " + std::to_string(i) + "; }");
    Send(first, job);
    Send(second, job);
    const auto a = Receive<protocol::CompileReply>(first),
               b = Receive<protocol::CompileReply>(second);
    EXPECT_TRUE(a.ok && b.ok) << a.message << b.message;
    EXPECT_EQ(a.report.cubin_path, b.report.cubin_path);
    EXPECT_TRUE(util::ReadFile(a.report.cubin_path));
  }
}

TEST(OptionsTest, BadArgumentsGetOneSentence) {
  EXPECT_EQ(
      ParseOptions({"--cach-dir", "x"}).error().message,
      "cudaagent-compile has no option \"--cach-dir\". Did you mean \"--cache-dir\"? See --help.");
  EXPECT_EQ(ParseOptions({"--jobs"}).error().message, "--jobs needs a value (N).");
  EXPECT_EQ(ParseOptions({"--jobs", "many"}).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(ParseOptions({"--fast-math=yes"}));
  EXPECT_FALSE(ParseOptions({"--jail", "strong"}));
  const auto options =
      ParseOptions({"--jobs=3", "--kernel", "f<1>", "--kernel=g", "--memory-mib", "2"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->jobs, 3);
  EXPECT_EQ(options->kernels, (std::vector<std::string>{"f<1>", "g"}));
  EXPECT_EQ(options->memory_bytes, 2 << 20);
}

}  // namespace
}  // namespace cudaagent::compile
