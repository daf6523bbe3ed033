#include "cli/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "util/file.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return folder_.path() + "/" + name; }
  util::TempDir folder_ = std::move(*util::TempDir::Create("output-file"));
};

TEST_F(OutputFileTest, APlainFileIsReplaced) {
  ASSERT_TRUE(WriteOutputFile(Path("a"), "one"));
  ASSERT_TRUE(WriteOutputFile(Path("a"), "two"));
  EXPECT_EQ(util::ReadFile(Path("a")).value(), "two");
}

TEST_F(OutputFileTest, TheFileBehindALinkIsWrittenAndTheLinkStays) {
  ASSERT_TRUE(WriteOutputFile(Path("target"), "old"));
  fs::create_symlink("target", Path("link"));
  ASSERT_TRUE(WriteOutputFile(Path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(util::ReadFile(Path("target")).value(), "new");
}

TEST_F(OutputFileTest, APipeIsWrittenToAndStaysAPipe) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string got;
  // Blocks until a writer is there, as a shell's `cat pipe` does.
  std::thread reader([&] {
    std::ifstream pipe(Path("pipe"));
    got.assign(std::istreambuf_iterator<char>(pipe), {});
  });
  ASSERT_TRUE(WriteOutputFile(Path("pipe"), "text"));
  reader.join();
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAndStaysADevice) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto written = WriteOutputFile("/dev/full", "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kEnvironment);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, TryingReplacesNothingAndLeavesNothing) {
  ASSERT_TRUE(WriteOutputFile(Path("a"), "old"));
  for (const char* name : {"a", "new"}) EXPECT_TRUE(TryOutputFile(Path(name))) << name;
  EXPECT_TRUE(TryOutputFile("-"));
  EXPECT_EQ(util::ReadFile(Path("a")).value(), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
  const auto none = TryOutputFile(Path("none/a"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(none.error().message.find("none/a"), std::string::npos);
  EXPECT_FALSE(TryOutputFile(folder_.path()));
}

TEST_F(OutputFileTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(WriteOutputFile(Path("none/a"), "text"));
}

}  // namespace
}  // namespace cudaagent::cli
