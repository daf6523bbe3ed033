#include "store/run_folder.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "store/best_readme.h"
#include "util/file.h"

namespace cudaagent::store {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("run-folder");
    ASSERT_TRUE(temp);
    temp_ = std::move(*temp);
    description_.spec.path = "/models/soft max.py";
    description_.spec.source = "class Model: pass";
    description_.spec.consts = {{"dim", "1024"}};
    description_.recheck = {"cudaagent", "eval", "/models/soft max.py", "--const", "dim=1024"};
    attempt_.number = 0;
    attempt_.candidate.source = "// kernel";
    attempt_.candidate.origin = "builtin";
    attempt_.evaluation.verdict = Verdict::kOk;
    attempt_.evaluation.candidate = Timing{1.25, 1.24, 1.26, 40};
    attempt_.evaluation.speedup_eager = Speedup{2.0, 1.9, 2.1};
    attempt_.evaluation.device.name = "NVIDIA H200";
    attempt_.feedback = "go on";
  }
  std::string Read(const std::string& path) {
    auto text = util::ReadFile(path);
    return text ? *text : "cannot read " + path;
  }
  util::TempDir temp_;
  RunDescription description_;
  Attempt attempt_;
};

TEST_F(RunFolderTest, AnAttemptIsReadableWithoutUs) {
  auto run = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_TRUE(run) << run.error().message;
  Proposal proposal;
  proposal.prompt = "please";
  proposal.answer = "here";
  proposal.prompt_tokens = 7;
  ASSERT_TRUE((*run)->SaveAttempt(attempt_, &proposal, false));
  const std::string folder = temp_.path() + "/run/attempts/0000/";
  EXPECT_EQ(Read(folder + "kernel.cu"), "// kernel");
  EXPECT_EQ(Read(folder + "feedback.txt"), "go on");
  EXPECT_EQ(Read(folder + "prompt.md"), "please");
  auto json = nlohmann::json::parse(Read(folder + "evaluation.json"));
  EXPECT_EQ(json["verdict"], "ok");
  EXPECT_EQ(json["origin"], "builtin");
  EXPECT_EQ(json["usage"]["prompt_tokens"], 7);
}

TEST_F(RunFolderTest, TheBestKernelCarriesItsFiguresAndTheCommandThatChecksIt) {
  auto run = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_TRUE(run);
  ASSERT_TRUE((*run)->SaveAttempt(attempt_, nullptr, true));
  const std::string readme = Read(temp_.path() + "/run/best/README.md");
  EXPECT_NE(readme.find("1.2500 ms"), std::string::npos) << readme;
  EXPECT_NE(readme.find("over eager: 2.00x (95 % interval 1.90 to 2.10)"), std::string::npos);
  EXPECT_NE(readme.find("cudaagent eval '/models/soft max.py' --const dim=1024 " + temp_.path() +
                        "/run/best/kernel.cu"),
            std::string::npos)
      << readme;
  EXPECT_EQ(readme.find("estimate"), std::string::npos);
}

TEST_F(RunFolderTest, AConfirmationIsToldAndARefutationTakesTheBestAway) {
  auto run = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_TRUE(run);
  ASSERT_TRUE((*run)->SaveAttempt(attempt_, nullptr, true));
  const std::string readme = temp_.path() + "/run/best/README.md";
  EXPECT_NE(Read(readme).find("Not confirmed in a fresh worker"), std::string::npos);
  attempt_.confirmation = attempt_.evaluation;
  attempt_.confirmation->candidate->median_ms = 1.5;
  ASSERT_TRUE((*run)->SaveConfirmation(attempt_, &attempt_));
  EXPECT_NE(Read(readme).find("Confirmed in a fresh worker"), std::string::npos);
  EXPECT_NE(Read(readme).find("1.5000 ms"), std::string::npos);
  EXPECT_TRUE(fs::exists(temp_.path() + "/run/attempts/0000/confirmation.json"));
  attempt_.confirmation->verdict = Verdict::kWrongResult;
  ASSERT_TRUE((*run)->SaveConfirmation(attempt_, nullptr));
  EXPECT_FALSE(fs::exists(temp_.path() + "/run/best"));
}

TEST_F(RunFolderTest, AnEstimateIsCalledAnEstimate) {
  attempt_.evaluation.estimated = true;
  EXPECT_NE(BestReadme(attempt_, description_.spec, {}).find("not a measurement"),
            std::string::npos);
}

TEST_F(RunFolderTest, TextThatIsNotUtf8IsStoredAllTheSame) {
  description_.spec.source = "# caf\xe9";
  attempt_.evaluation.message = "bad byte \xff";
  auto run = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_TRUE((*run)->SaveAttempt(attempt_, nullptr, false));
  auto json = nlohmann::json::parse(Read(temp_.path() + "/run/attempts/0000/evaluation.json"));
  EXPECT_EQ(json["message"], "bad byte \xef\xbf\xbd");
}

TEST_F(RunFolderTest, TwoWritersAreRefused) {
  auto first = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_TRUE(first);
  auto second = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUsage);
  EXPECT_NE(second.error().message.find("Another cudaagent writes"), std::string::npos);
}

TEST_F(RunFolderTest, AFolderThatHoldsARunIsNotOverwritten) {
  ASSERT_TRUE(RunFolder::Create(temp_.path() + "/run", description_));
  auto again = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("already holds a run"), std::string::npos);
}

TEST_F(RunFolderTest, AnUnwritablePlaceIsOneClearError) {
  ASSERT_TRUE(util::WriteFileAtomic(temp_.path() + "/file", "x"));
  auto run = RunFolder::Create(temp_.path() + "/file/run", description_);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find(temp_.path() + "/file"), std::string::npos);
}

TEST_F(RunFolderTest, WithoutANameTheFolderIsDatedAndLatestPointsAtIt) {
  const fs::path old = fs::current_path();
  fs::current_path(temp_.path());
  auto run = RunFolder::Create("", description_);
  fs::current_path(old);
  ASSERT_TRUE(run) << run.error().message;
  const std::string name = fs::path((*run)->folder()).filename();
  EXPECT_FALSE(fs::exists(fs::symlink_status(temp_.path() + "/runs/latest")))
      << "nothing is stored yet";
  ASSERT_TRUE((*run)->SaveAttempt(attempt_, nullptr, true));
  EXPECT_NE(name.find("-soft-max-"), std::string::npos) << name;
  EXPECT_EQ(fs::read_symlink(temp_.path() + "/runs/latest").string(), name);
}

TEST_F(RunFolderTest, AFullDiskIsOneClearErrorAndKeepsWhatWasThere) {
  const std::string disk = temp_.path() + "/disk";
  ASSERT_TRUE(util::MakeDirs(disk));
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=400k") != 0) {
    GTEST_SKIP() << "cannot mount a small tmpfs here: " << strerror(errno);
  }
  ASSERT_TRUE(util::WriteFileAtomic(disk + "/filler", std::string(100'000, 'x')));
  {
    auto run = RunFolder::Create(disk + "/run", description_);
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_TRUE((*run)->SaveAttempt(attempt_, nullptr, true));
    ++attempt_.number;
    attempt_.candidate.source.assign(400'000, 'x');
    auto saved = (*run)->SaveAttempt(attempt_, nullptr, true);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::kEnvironment);
    EXPECT_NE(saved.error().message.find("the disk is full"), std::string::npos)
        << saved.error().message;
    EXPECT_EQ(Read(disk + "/run/best/kernel.cu"), "// kernel");
  }
  fs::remove(disk + "/filler");
  {
    auto run = RunFolder::Resume(disk + "/run");
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ((*run)->before().attempts.size(), 1u);
    attempt_.candidate.source = "// smaller";
    EXPECT_TRUE((*run)->SaveAttempt(attempt_, nullptr, true));
  }
  umount(disk.c_str());
}

TEST_F(RunFolderTest, ResumingBringsBackEveryAttemptAndRepairsTheFiles) {
  const std::string folder = temp_.path() + "/run";
  Proposal proposal;
  proposal.prompt = "please";
  {
    auto run = RunFolder::Create(folder, description_);
    ASSERT_TRUE(run);
    ASSERT_TRUE((*run)->SaveAttempt(attempt_, nullptr, true));
    attempt_.number = 1;
    attempt_.candidate.source = "// faster";
    ASSERT_TRUE((*run)->SaveAttempt(attempt_, &proposal, true));
  }
  // What a kill may leave: an attempt without its last files, half of a temporary file, an old
  // best.
  fs::remove(folder + "/attempts/0001/evaluation.json");
  fs::remove_all(folder + "/attempts/0000");
  ASSERT_TRUE(util::WriteFileAtomic(folder + "/attempts/0001/kernel.cu.tmp.1.2", "ha"));
  ASSERT_TRUE(util::WriteFileAtomic(folder + "/best/kernel.cu", "// kernel"));
  ASSERT_TRUE(util::MakeDirs(folder + "/.best-new"));
  auto run = RunFolder::Resume(folder);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ((*run)->before().attempts.size(), 2u);
  EXPECT_EQ(Read(folder + "/attempts/0000/kernel.cu"), "// kernel");
  EXPECT_EQ(nlohmann::json::parse(Read(folder + "/attempts/0001/evaluation.json"))["attempt"], 1);
  EXPECT_EQ(Read(folder + "/attempts/0001/prompt.md"), "please");
  EXPECT_EQ(Read(folder + "/best/kernel.cu"), "// faster");
  EXPECT_FALSE(fs::exists(folder + "/attempts/0001/kernel.cu.tmp.1.2"));
  EXPECT_FALSE(fs::exists(folder + "/.best-new"));
}

TEST_F(RunFolderTest, ARunThatIsBeingWrittenIsNotResumed) {
  auto run = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_TRUE(run);
  EXPECT_TRUE(IsBeingWritten(temp_.path() + "/run"));
  auto second = RunFolder::Resume(temp_.path() + "/run");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("Another cudaagent writes"), std::string::npos);
  run->reset();
  EXPECT_FALSE(IsBeingWritten(temp_.path() + "/run"));
  EXPECT_TRUE(RunFolder::Resume(temp_.path() + "/run"));
}

TEST_F(RunFolderTest, ARunKilledBeforeItBeganCanBeStartedAgainButNotResumed) {
  const std::string folder = temp_.path() + "/run";
  ASSERT_TRUE(util::MakeDirs(folder));
  ASSERT_TRUE(RunDatabase::OpenToWrite(folder + "/run.db"));
  auto resumed = RunFolder::Resume(folder);
  ASSERT_FALSE(resumed);
  EXPECT_NE(resumed.error().message.find("stopped before it began"), std::string::npos);
  EXPECT_TRUE(RunFolder::Create(folder, description_));
}

TEST_F(RunFolderTest, ARunOfAVersionWithoutADatabaseIsNotOverwritten) {
  ASSERT_TRUE(util::MakeDirs(temp_.path() + "/run"));
  ASSERT_TRUE(util::WriteFileAtomic(temp_.path() + "/run/run.json", "{}"));
  auto run = RunFolder::Create(temp_.path() + "/run", description_);
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("already holds a run"), std::string::npos);
}

TEST(ShellQuoteTest, AShellReadsTheWordBack) {
  EXPECT_EQ(ShellQuote("a/b.py"), "a/b.py");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("$(rm)"), "'$(rm)'");
}

}  // namespace
}  // namespace cudaagent::store
