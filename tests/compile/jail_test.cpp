#include "compile/jail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compile/forked_task.h"
#include "compile/scratch_dir.h"
#include "util/file.h"

namespace cudaagent::compile {
namespace {

bool CanRead(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

bool CanCreate(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

// What a jailed child answers, one character per question.
std::string InJail(JailKind kind, const JailLimits& limits,
                   const std::function<std::string()>& ask) {
  auto task = ForkedTask::Start(
      [&](int fd) {
        if (!EnterJail(kind, limits)) return 2;
        const std::string answer = ask();
        return ::write(fd, answer.data(), answer.size()) < 0 ? 1 : 0;
      },
      20, 1 << 20);
  if (!task) return task.error().message;
  while (!task->Read()) ::usleep(1000);
  const auto end = task->Finish();
  return end.status == 0 && end.signal == 0 ? task->output() : "died";
}

class JailTest : public testing::TestWithParam<JailKind> {
 protected:
  JailTest() {
    auto dir = util::TempDir::Create("jail");
    if (!dir) throw FatalError(dir.error().message);
    dir_ = std::make_unique<util::TempDir>(std::move(*dir));
    for (const char* name : {"open", "closed", "write", "cwd"}) {
      std::filesystem::create_directories(dir_->path() + "/" + name);
    }
    std::ofstream(dir_->path() + "/open/file") << "x";
    std::ofstream(dir_->path() + "/closed/file") << "x";
    std::filesystem::current_path(dir_->path() + "/cwd");
    const JailKind kind = GetParam();
    usable_ = kind == JailKind::kLandlock ? BestJail() == kind : ::geteuid() == 0;
  }
  ~JailTest() override { std::filesystem::current_path("/"); }

  bool usable_ = false;
  std::unique_ptr<util::TempDir> dir_;
};

TEST_P(JailTest, OnlyTheNamedFoldersCanBeTouched) {
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  const std::string d = dir_->path();
  JailLimits limits;
  limits.readable = {d + "/open", d + "/does-not-exist"};
  limits.writable = {d + "/write"};
  limits.file_bytes = 1 << 20;
  const std::string answer = InJail(GetParam(), limits, [&] {
    std::string out;
    for (const bool yes :
         {CanRead(d + "/open/file"), CanRead(d + "/closed/file"), CanRead("/etc/passwd"),
          CanRead("/proc/self/environ"), CanRead(d + "/open/../closed/file"),
          CanCreate(d + "/write/new"), CanCreate(d + "/open/new"), CanCreate(d + "/cwd/new")}) {
      out += yes ? 'y' : 'n';
    }
    return out;
  });
  // The chroot's own empty root is a file system in memory that ends with the child.
  EXPECT_EQ(answer.substr(0, 6), "ynnnny");
  EXPECT_EQ(answer.substr(6, 1), "n");
  EXPECT_FALSE(std::filesystem::exists(d + "/cwd/new"));
  EXPECT_TRUE(std::filesystem::exists(d + "/write/new"));
}

TEST_P(JailTest, RootCannotWalkOutOfIt) {
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  const std::string answer = InJail(GetParam(), {}, [&] {
    const bool moved = ::mkdir("sub", 0700) == 0 && ::chroot("sub") == 0;
    return std::string(
        moved && ::chdir("../../../../../../..") == 0 && CanRead("etc/passwd") ? "out" : "in");
  });
  EXPECT_EQ(answer, "in");
}

TEST_P(JailTest, MemoryAndFileSizesAreCapped) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer and RLIMIT_AS exclude each other";
#endif
  if (!usable_) GTEST_SKIP() << "this machine has no such jail";
  JailLimits limits;
  limits.memory_bytes = 512 << 20;
  limits.writable = {dir_->path() + "/write"};
  limits.file_bytes = 4096;
  const std::string answer = InJail(GetParam(), limits, [&] {
    void* block = ::malloc(size_t{1} << 30);
    ::signal(SIGXFSZ, SIG_IGN);
    const int fd = ::open((dir_->path() + "/write/big").c_str(), O_CREAT | O_WRONLY, 0600);
    const std::string bytes(8192, 'x');
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    return std::string(block == nullptr && written == 4096 ? "capped" : "free");
  });
  EXPECT_EQ(answer, "capped");
}

INSTANTIATE_TEST_SUITE_P(Kinds, JailTest, testing::Values(JailKind::kLandlock, JailKind::kChroot),
                         [](const auto& info) { return std::string(ToString(info.param)); });

TEST(ForkedTaskTest, ChildHasNoDescriptorsButItsPipe) {
  const int extra = ::open("/dev/null", O_RDONLY);  // no O_CLOEXEC, and fork keeps all anyway
  auto task = ForkedTask::Start(
      [](int fd) {
        std::string out;
        for (int other = 0; other < 64; ++other) {
          if (::fcntl(other, F_GETFD) >= 0) out += std::to_string(other) + " ";
        }
        return ::write(fd, out.data(), out.size()) < 0 ? 1 : 0;
      },
      10, 4096);
  ASSERT_TRUE(task);
  while (!task->Read()) ::usleep(1000);
  task->Finish();
  EXPECT_EQ(task->output(), "0 1 2 3 ");
  ::close(extra);
}

TEST(ForkedTaskTest, DeadlineAndOverflowKill) {
  auto sleeper = ForkedTask::Start(
      [](int) {
        ::sleep(60);
        return 0;
      },
      0.1, 10);
  ASSERT_TRUE(sleeper);
  while (!sleeper->Read()) ::usleep(1000);
  EXPECT_TRUE(sleeper->Finish().timed_out);
  auto talker = ForkedTask::Start(
      [](int fd) {
        for (;;) (void)!::write(fd, "0123456789", 10);
        return 0;
      },
      30, 100000);
  ASSERT_TRUE(talker);
  while (!talker->Read()) ::usleep(1000);
  EXPECT_TRUE(talker->Finish().overflowed);
}

TEST(ScratchDirTest, OwnersKeepTheirsAndTheDeadLoseThem) {
  auto parent = util::TempDir::Create("scratch");
  ASSERT_TRUE(parent);
  const std::string abandoned = parent->path() + "/run-aaaaaa";
  std::filesystem::create_directories(abandoned + "/pch");
  std::string mine;
  {
    auto first = ScratchDir::Create(parent->path());
    auto second = ScratchDir::Create(parent->path());
    ASSERT_TRUE(first && second);
    mine = first->path();
    EXPECT_TRUE(std::filesystem::exists(first->path()));
    EXPECT_TRUE(std::filesystem::exists(second->path()));
    EXPECT_FALSE(std::filesystem::exists(abandoned));
  }
  EXPECT_FALSE(std::filesystem::exists(mine));
}

}  // namespace
}  // namespace cudaagent::compile
