#include "store/run_list.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "store/run_folder.h"
#include "util/file.h"

namespace cudaagent::store {
namespace {

namespace fs = std::filesystem;

class RunListTest : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("run-list");
    ASSERT_TRUE(temp);
    temp_ = std::move(*temp);
    old_ = fs::current_path();
    fs::current_path(temp_.path());
  }
  void TearDown() override { fs::current_path(old_); }
  std::unique_ptr<RunFolder> Make(const std::string& name) {
    RunDescription description;
    description.spec.path = "/m.py";
    auto run = RunFolder::Create("runs/" + name, description);
    EXPECT_TRUE(run) << run.error().message;
    return std::move(*run);
  }
  std::string Message(const std::string& name) {
    auto found = FindRun(name);
    return found ? "found " + *found : found.error().message;
  }
  util::TempDir temp_;
  fs::path old_;
};

TEST_F(RunListTest, EveryRunHasItsState) {
  auto running = Make("a");
  ASSERT_TRUE(Make("b")->End("all attempts used", true, 1, "{}"));
  Make("c");
  ASSERT_TRUE(util::MakeDirs("runs/d"));
  ASSERT_TRUE(util::WriteFileAtomic("runs/d/run.db", std::string(4096, '!')));
  ASSERT_TRUE(util::MakeDirs("runs/no run"));
  fs::create_directory_symlink("c", "runs/latest");
  const auto entries = ListRuns("runs");
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].state, RunState::kRunning);
  EXPECT_EQ(entries[1].state, RunState::kFinished);
  EXPECT_EQ(entries[2].state, RunState::kInterrupted);
  EXPECT_EQ(entries[3].state, RunState::kUnreadable);
  EXPECT_NE(entries[3].trouble, "");
  EXPECT_TRUE(ListRuns("nowhere").empty());
}

TEST_F(RunListTest, ARunIsFoundByFolderNamePartAndLatest) {
  Make("20260101-softmax-aaa");
  Make("20260102-softmax-bbb");
  const std::string runs = fs::canonical(temp_.path()).string() + "/runs/";
  EXPECT_EQ(Message(temp_.path() + "/runs/20260101-softmax-aaa"),
            "found " + runs + "20260101-softmax-aaa");
  EXPECT_EQ(Message("20260102-softmax-bbb"), "found " + runs + "20260102-softmax-bbb");
  EXPECT_EQ(Message("bbb"), "found " + runs + "20260102-softmax-bbb");
  EXPECT_NE(Message("latest").find("no latest run"), std::string::npos);
  fs::create_directory_symlink("20260101-softmax-aaa", "runs/latest");
  EXPECT_EQ(Message("latest"), "found " + runs + "20260101-softmax-aaa");
  EXPECT_NE(Message("softmax").find("means 2 runs in runs/: 20260101-softmax-aaa, "),
            std::string::npos);
  EXPECT_NE(Message("zzz").find("There is no run \"zzz\""), std::string::npos);
  EXPECT_NE(Message("").find("There is no run"), std::string::npos);
}

}  // namespace
}  // namespace cudaagent::store
