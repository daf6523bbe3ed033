#include "cli/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
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
  std::thread reader([&] { got = util::ReadFile(Path("pipe")).value_or("unread"); });
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

TEST_F(OutputFileTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(WriteOutputFile(Path("none/a"), "text"));
}

}  // namespace
}  // namespace cudaagent::cli
