#include "util/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "util/hash.h"
#include "util/paths.h"
#include "util/time.h"

namespace cudaagent::util {
namespace {

using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return folder_.path() + "/" + name; }
  int Files() {
    int files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      ++files;
    }
    return files;
  }
  TempDir folder_ = std::move(*TempDir::Create("file-test"));
};

TEST_F(FileTest, ReadsBackWhatItWroteAndReplacesIt) {
  const std::string text("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomic(Path("f"), text));
  EXPECT_EQ(ReadFile(Path("f")).value(), text);
  ASSERT_TRUE(WriteFileAtomic(Path("f"), "new"));
  EXPECT_EQ(ReadFile(Path("f")).value(), "new");
  EXPECT_EQ(Files(), 1) << "a temporary file is left";
}

TEST_F(FileTest, ReadingNamesWhatIsWrong) {
  EXPECT_EQ(ReadFile(Path("none")).error().message,
            "Cannot read " + Path("none") + ": No such file or directory.");
  EXPECT_EQ(ReadFile(Path("none")).error().code, ErrorCode::kUsage);
  EXPECT_THAT(ReadFile(folder_.path()).error().message, HasSubstr("it is a folder"));
  ASSERT_TRUE(WriteFileAtomic(Path("f"), "12345"));
  EXPECT_TRUE(ReadFile(Path("f"), 5));
  EXPECT_THAT(ReadFile(Path("f"), 4).error().message, HasSubstr("larger than the 4 bytes"));
  EXPECT_THAT(ReadFile("/dev/zero", 100).error().message, HasSubstr("larger than the 100 bytes"));
}

// RLIMIT_FSIZE stands in for a full disk: the write fails half way.
TEST_F(FileTest, AWriteThatFailsHalfWayLeavesTheOldFileAndNoOther) {
  ASSERT_TRUE(WriteFileAtomic(Path("f"), "old"));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Result<void> written = WriteFileAtomic(Path("f"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(written.error().message, "Cannot write " + Path("f") + ": File too large.");
  EXPECT_EQ(ReadFile(Path("f")).value(), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(FileTest, WritingIntoAMissingFolderIsAnError) {
  EXPECT_EQ(WriteFileAtomic(Path("no/f"), "x").error().message,
            "Cannot write " + Path("no/f") + ": No such file or directory.");
}

TEST_F(FileTest, TheTailIsTheEnd) {
  ASSERT_TRUE(WriteFileAtomic(Path("f"), "0123456789"));
  EXPECT_EQ(ReadTail(Path("f"), 3), "789");
  EXPECT_EQ(ReadTail(Path("f"), 30), "0123456789");
  EXPECT_EQ(ReadTail(Path("none"), 30), "");
  EXPECT_EQ(ReadTail(folder_.path(), 30), "");
}

TEST_F(FileTest, MakesFoldersAndSaysWhatIsInTheWay) {
  EXPECT_TRUE(MakeDirs(Path("a/b/c")));
  EXPECT_TRUE(MakeDirs(Path("a/b/c")));
  ASSERT_TRUE(WriteFileAtomic(Path("f"), "x"));
  EXPECT_FALSE(MakeDirs(Path("f")));
  EXPECT_FALSE(MakeDirs(Path("f/g")));
}

TEST_F(FileTest, ATemporaryFolderIsPrivateAndGoesWithItsOwner) {
  std::string path;
  {
    TempDir first = std::move(*TempDir::Create("x"));
    path = first.path();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_TRUE(MakeDirs(path + "/deep/er"));
    TempDir second(std::move(first));
    EXPECT_EQ(first.path(), "");
    EXPECT_EQ(second.path(), path);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HashTest, IsSha256) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(PathsTest, FollowXdgAndIgnoreRelativeValues) {
  ::setenv("HOME", "/home/a", 1);
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  ::unsetenv("XDG_STATE_HOME");
  EXPECT_EQ(CacheDir(), "/x/cudaagent");
  EXPECT_EQ(ConfigDir(), "/home/a/.config/cudaagent");
  EXPECT_EQ(StateDir(), "/home/a/.local/state/cudaagent");
  EXPECT_EQ(ProgramDir(), std::filesystem::canonical(CUDAAGENT_BIN_DIR).string());
}

TEST(TimeTest, StampsAreIso8601InUtc) {
  EXPECT_THAT(NowIso8601(),
              ::testing::MatchesRegex(
                  "20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"));
}

TEST(TimeTest, ADeadlinePassesAndNeverGoesNegative) {
  const Deadline past = Deadline::After(-5);
  EXPECT_TRUE(past.Passed());
  EXPECT_EQ(past.RemainingSeconds(), 0);
  EXPECT_EQ(past.RemainingMillis(), 0);
  const Deadline soon = Deadline::After(10);
  EXPECT_FALSE(soon.Passed());
  EXPECT_NEAR(soon.RemainingSeconds(), 10, 1);
  EXPECT_GT(Deadline::Never().RemainingSeconds(), 1e7);
  EXPECT_GT(Deadline::After(1e300).RemainingMillis(), 1'000'000);
}

}  // namespace
}  // namespace cudaagent::util
