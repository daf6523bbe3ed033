#include "compile/cubin_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <filesystem>
#include <fstream>

#include "util/file.h"

namespace cudaagent::compile {
namespace {

Compiled Example(const std::string& text = "code") {
  Compiled compiled;
  compiled.reply.ok = true;
  compiled.reply.verdict = Verdict::kOk;
  compiled.reply.lowered["f<1>"] = "_Z1f";
  compiled.reply.demangled["f<1>"] = "f<1>()";
  compiled.reply.report.log = "a warning\n";
  compiled.reply.report.kernels.push_back({"f<1>", 12, 0, 512, 0});
  compiled.cubin = "CUBIN" + text;
  compiled.ptx = "PTX" + text;
  return compiled;
}

class CubinCacheTest : public testing::Test {
 protected:
  CubinCacheTest() {
    auto dir = util::TempDir::Create("cubin-cache");
    if (!dir) throw FatalError(dir.error().message);
    dir_ = std::make_unique<util::TempDir>(std::move(*dir));
  }
  CubinCache Open(int64_t max_bytes = 1 << 20,
                  std::chrono::seconds keep = std::chrono::seconds(0)) {
    return *CubinCache::Open({.dir = dir_->path(), .max_bytes = max_bytes, .keep_recent = keep});
  }
  static std::string Key(const std::string& source) {
    return CubinCache::Key("13.0", {"-a"}, source, {});
  }

  std::unique_ptr<util::TempDir> dir_;
};

TEST_F(CubinCacheTest, FindsWhatWasStored) {
  CubinCache cache = Open();
  EXPECT_FALSE(cache.Find(Key("a")));
  const auto stored = cache.Store(Key("a"), Example());
  ASSERT_TRUE(stored);
  EXPECT_FALSE(stored->report.cached);
  const auto found = Open().Find(Key("a"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->report.cached);
  EXPECT_EQ(found->report.cubin_path, stored->report.cubin_path);
  EXPECT_EQ(found->lowered, stored->lowered);
  EXPECT_EQ(found->report.log, "a warning\n");
  EXPECT_EQ(found->report.kernels.at(0).static_shared_bytes, 512);
  EXPECT_EQ(*util::ReadFile(found->report.cubin_path), "CUBINcode");
  EXPECT_EQ(*util::ReadFile(found->report.ptx_path), "PTXcode");
}

TEST_F(CubinCacheTest, EveryInputChangesTheKey) {
  const std::string key = CubinCache::Key("13.0", {"-a", "-b"}, "s", {"k"});
  EXPECT_EQ(key, CubinCache::Key("13.0", {"-a", "-b"}, "s", {"k"}));
  EXPECT_NE(key, CubinCache::Key("13.1", {"-a", "-b"}, "s", {"k"}));
  EXPECT_NE(key, CubinCache::Key("13.0", {"-a", "-c"}, "s", {"k"}));
  EXPECT_NE(key, CubinCache::Key("13.0", {"-a-b"}, "s", {"k"}));
  EXPECT_NE(key, CubinCache::Key("13.0", {"-a"}, "-b", {"s", "k"}));
  EXPECT_NE(key, CubinCache::Key("13.0", {"-a", "-b"}, "t", {"k"}));
  EXPECT_NE(key, CubinCache::Key("13.0", {"-a", "-b"}, "s", {"k", ""}));
}

TEST_F(CubinCacheTest, DamagedEntriesCountAsAbsentAndAreReplaced) {
  CubinCache cache = Open();
  for (const char* file : {"kernel.cubin", "kernel.ptx", "reply.json"}) {
    const auto stored = cache.Store(Key("a"), Example());
    ASSERT_TRUE(stored);
    const auto entry = std::filesystem::path(stored->report.cubin_path).parent_path();
    std::ofstream(entry / file, std::ios::app) << "x";
    EXPECT_FALSE(cache.Find(Key("a"))) << file;
    EXPECT_FALSE(std::filesystem::exists(entry)) << file;
  }
  const auto stored = cache.Store(Key("a"), Example());
  const auto entry = std::filesystem::path(stored->report.cubin_path).parent_path();
  std::filesystem::remove(entry / "kernel.ptx");
  // Another program that stores the same key meets the damaged entry and puts it right.
  EXPECT_TRUE(Open().Store(Key("a"), Example("new")));
  EXPECT_EQ(*util::ReadFile(Open().Find(Key("a"))->report.ptx_path), "PTXnew");
}

TEST_F(CubinCacheTest, TwoProgramsThatRaceOnOneKeyBothEndWithAWholeEntry) {
  std::vector<pid_t> pids;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      CubinCache cache = Open(1 << 30);
      for (int i = 0; i < 50; ++i) {
        const auto stored = cache.Store(Key(std::to_string(i)), Example(std::string(20000, 'x')));
        if (!stored || !cache.Find(Key(std::to_string(i)))) ::_exit(1);
      }
      ::_exit(0);
    }
    pids.push_back(pid);
  }
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir_->path() + "/tmp"));
}

TEST_F(CubinCacheTest, GarbageIsWhatWasUsedLongestAgo) {
  CubinCache cache = Open(1 << 30);
  for (int i = 0; i < 4; ++i) {
    const auto stored = cache.Store(Key(std::to_string(i)), Example(std::string(100000, 'x')));
    ASSERT_TRUE(stored);
    const auto reply_file =
        (std::filesystem::path(stored->report.cubin_path).parent_path() / "reply.json").string();
    const utimbuf times{1000 + i, 1000 + i};
    ::utime(reply_file.c_str(), &times);
  }
  ASSERT_TRUE(cache.Find(Key("0")));  // used now
  EXPECT_LE(Open(450000).CollectGarbage(), 450000);
  EXPECT_TRUE(cache.Find(Key("0")));
  EXPECT_FALSE(cache.Find(Key("1")));
  EXPECT_FALSE(cache.Find(Key("2")));
  EXPECT_TRUE(cache.Find(Key("3")));
  // What may be about to be loaded stays whatever the size.
  EXPECT_GT(Open(1, std::chrono::seconds(600)).CollectGarbage(), 1);
  EXPECT_TRUE(cache.Find(Key("0")));
}

TEST_F(CubinCacheTest, StoreKeepsTheFolderWithinItsCap) {
  CubinCache cache = Open(1000000);
  int64_t bytes = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(cache.Store(Key(std::to_string(i)), Example(std::string(100000, 'x'))));
  }
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir_->path())) {
    if (file.is_regular_file()) bytes += static_cast<int64_t>(file.file_size());
  }
  EXPECT_LE(bytes, 1000000);
  EXPECT_GT(bytes, 500000);
}

TEST_F(CubinCacheTest, AbandonedTemporaryFoldersGoAway) {
  const std::string old = dir_->path() + "/tmp/new-abcdef",
                    fresh = dir_->path() + "/tmp/new-fresh1";
  CubinCache cache = Open();
  std::filesystem::create_directories(old);
  std::filesystem::create_directories(fresh);
  const utimbuf times{1000, 1000};
  ::utime(old.c_str(), &times);
  cache.CollectGarbage();
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
}

TEST_F(CubinCacheTest, AClearedCacheIsRebuilt) {
  CubinCache cache = Open();
  std::filesystem::remove_all(dir_->path() + "/entries");
  std::filesystem::remove_all(dir_->path() + "/tmp");
  EXPECT_TRUE(cache.Store(Key("a"), Example()));
  EXPECT_TRUE(cache.Find(Key("a")));
}

}  // namespace
}  // namespace cudaagent::compile
