#include "compile/nvrtc_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "util/file.h"

namespace cudaagent::compile {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(NvrtcLibraryTest, IsFoundAndNamesItself) {
  const auto library = NvrtcLibrary::Load({});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT((*library)->path(), HasSubstr("libnvrtc.so."));
  EXPECT_THAT((*library)->version(), testing::MatchesRegex("1[23]\\.[0-9]+"));
  EXPECT_THAT((*library)->fingerprint(), testing::StartsWith((*library)->version() + "/"));
  const auto dirs = IncludeDirs(**library, {});
  ASSERT_TRUE(dirs) << dirs.error().message;
  EXPECT_TRUE(std::filesystem::exists(dirs->front() + "/cuda_fp16.h"));
}

TEST(NvrtcLibraryTest, AMissingOrForeignFileIsAnErrorThatNamesIt) {
  EXPECT_THAT(NvrtcLibrary::Load({.nvrtc_path = "/nowhere/libnvrtc.so.13"}).error().message,
              HasSubstr("tried /nowhere/libnvrtc.so.13"));
  const auto error = NvrtcLibrary::Load({.nvrtc_path = "libz.so.1"}).error();
  EXPECT_EQ(error.code, ErrorCode::kEnvironment);
}

TEST(NvrtcLibraryTest, WheelsBesideAPythonAreSearched) {
  auto dir = util::TempDir::Create("venv");
  ASSERT_TRUE(dir);
  const std::string wheel = dir->path() + "/lib/python3.12/site-packages/nvidia/cu13";
  std::filesystem::create_directories(wheel + "/lib");
  ::setenv("CUDAAGENT_PYTHON", (dir->path() + "/bin/python").c_str(), 1);
  const auto dirs = LibraryDirs({.nvrtc_dirs = {"/first"}});
  ::unsetenv("CUDAAGENT_PYTHON");
  EXPECT_EQ(dirs.front(), "/first");
  EXPECT_THAT(dirs, Contains(wheel + "/lib"));
}

}  // namespace
}  // namespace cudaagent::compile
