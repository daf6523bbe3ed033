// Runs that are killed, resumed, replayed, looked at. On the CPU device with a scripted proposer.
#include <signal.h>
#include <sys/mount.h>

#include <chrono>
#include <random>
#include <sstream>
#include <thread>

#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

using nlohmann::json;

class ResumeTest : public Workbench {
 protected:
  void SetUp() override {
    Workbench::SetUp();
    run_ = temp_.path() + "/run";
  }
  std::string Proposer(const std::string& flags = "") const {
    return "python3 " + std::string(CUDAAGENT_SOURCE_DIR) +
           "/tests/programs/scripted_proposer.py " + flags;
  }
  std::vector<std::string> Optimize(const std::string& out, int attempts,
                                    const std::string& proposer) const {
    return Words({"optimize", kProblems + "softmax.py", "--const", "batch_size=8", "--const",
                  "dim=256", "--device", "cpu", "--attempts", std::to_string(attempts), "--command",
                  proposer, "--out", out, "--seed", "7", "--quiet"});
  }
  // Every attempt without what differs from day to day.
  std::vector<json> Attempts(const std::string& run) const {
    const Finished exported = Call({"export", run});
    EXPECT_EQ(exported.exit_code, 0) << exported.err;
    std::vector<json> rows;
    std::istringstream lines(exported.out);
    for (std::string line; std::getline(lines, line);) {
      json row = json::parse(line);
      row.erase("elapsed_s");
      row.erase("evaluation");
      rows.push_back(std::move(row));
    }
    return rows;
  }
  std::string Best(const std::string& run) const { return Call({"best", run}).out; }
  std::string run_;
};

TEST_F(ResumeTest, FiveKillsLeaveTheSameRun) {
  const std::string whole = temp_.path() + "/whole";
  const Finished undisturbed = RunProgram(Optimize(whole, 6, Proposer()), environment_);
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<double> moment(0, undisturbed.seconds);
  for (int kills = 0;; ++kills) {
    const bool begun = Call({"export", run_}).exit_code == 0;
    RunningProgram driver(
        begun ? Words({"optimize", "--resume", run_, "--quiet"}) : Optimize(run_, 6, Proposer()),
        environment_);
    if (kills == 5) {
      const Finished last = driver.Wait();
      ASSERT_EQ(last.exit_code, 0) << last.err;
      break;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
    kill(driver.pid(), SIGKILL);
    driver.Wait();
  }
  EXPECT_EQ(Attempts(run_), Attempts(whole));
  EXPECT_EQ(Best(run_), Best(whole));
  EXPECT_EQ(util::ReadFile(run_ + "/best/kernel.cu").value(), Best(whole));
}

TEST_F(ResumeTest, ARecordedRunReplaysAndATamperedOneDoesNot) {
  const Finished recorded = RunProgram(Optimize(run_, 20, Proposer()), environment_);
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  ASSERT_EQ(Attempts(run_).size(), 21u);

  const std::string again = temp_.path() + "/again";
  const Finished replay = Call({"replay", run_, "--out", again, "--quiet"});
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_LT(replay.seconds, 60);
  EXPECT_EQ(Attempts(again), Attempts(run_));
  EXPECT_EQ(Best(again), Best(run_));

  const auto tamper = [this](const std::string& sql) {
    return RunProgram({"/usr/bin/env", "python3", "-c",
                       "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); "
                       "d.execute(sys.argv[2]); d.commit()",
                       run_ + "/run.db", sql});
  };
  ASSERT_EQ(tamper("UPDATE exchange SET prompt = replace(prompt, 'attempt 1', 'attempt 7') WHERE "
                   "attempt = 2")
                .exit_code,
            0);
  const Finished prompt = Call({"replay", run_, "--out", temp_.path() + "/t1", "--quiet"});
  EXPECT_EQ(prompt.exit_code, 2);
  EXPECT_NE(
      prompt.err.find("the prompt of attempt 2 is not the recorded one. First difference in line"),
      std::string::npos)
      << prompt.err;
  ASSERT_EQ(tamper("UPDATE exchange SET answer = 'nothing' WHERE attempt = 1").exit_code, 0);
  const Finished answer = Call({"replay", run_, "--out", temp_.path() + "/t2", "--quiet"});
  EXPECT_EQ(answer.exit_code, 2) << answer.err;
}

TEST_F(ResumeTest, AFinishedRunPrintsItsResultAndGoesOnWithMoreAttempts) {
  const Finished first = RunProgram(Optimize(run_, 1, Proposer()), environment_);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Finished finished = Call({"optimize", "--resume", run_});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, first.out);
  EXPECT_NE(finished.err.find("this run is finished (all attempts used)"), std::string::npos)
      << finished.err;
  EXPECT_LT(finished.seconds, 2) << "something was started";

  const Finished contradiction = Call({"optimize", "--resume", run_, "--dtype", "float16"});
  EXPECT_EQ(contradiction.exit_code, 2);
  EXPECT_NE(contradiction.err.find("--dtype contradicts the run"), std::string::npos)
      << contradiction.err;

  const Finished more =
      Call({"optimize", "--resume", run_, "--attempts", "3", "--quiet", "--json"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(json::parse(more.out)["attempts"].size(), 4u);
  const std::string runs = Call({"runs", temp_.path(), "--json"}).out;
  EXPECT_EQ(json::parse(runs)["runs"][0]["state"], "finished") << runs;
  EXPECT_EQ(json::parse(runs)["runs"][0]["attempts"], 4);
}

TEST_F(ResumeTest, AModelThatHasChangedIsRefused) {
  const std::string model = File("m.py", util::ReadFile(kProblems + "softmax.py").value());
  const Finished first = Call({"optimize", model, "--const", "batch_size=8", "--const", "dim=256",
                               "--device", "cpu", "--attempts", "0", "--out", run_, "--quiet"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  File("m.py", util::ReadFile(model).value() + "# a word\n");
  const Finished resumed = Call({"optimize", "--resume", run_, "--attempts", "20"});
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_NE(resumed.err.find("m.py has changed since the run began"), std::string::npos)
      << resumed.err;
}

TEST_F(ResumeTest, AFullDiskIsOneErrorAndTheRunGoesOnWhenThereIsRoom) {
  const std::string disk = temp_.path() + "/disk";
  ASSERT_TRUE(util::MakeDirs(disk));
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=400k") != 0) {
    GTEST_SKIP() << "cannot mount a small tmpfs here: " << strerror(errno);
  }
  run_ = disk + "/run";
  const Finished full = RunProgram(Optimize(run_, 20, Proposer()), environment_);
  EXPECT_EQ(full.exit_code, 6) << full.err;
  EXPECT_NE(full.err.find("the disk is full"), std::string::npos) << full.err;
  ASSERT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=40m"), 0);
  const size_t stored = Attempts(run_).size();
  EXPECT_GT(stored, 0u);
  EXPECT_LT(stored, 21u);
  const Finished resumed = Call({"optimize", "--resume", run_, "--quiet"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Attempts(run_).size(), 21u);
  umount(disk.c_str());
}

TEST_F(ResumeTest, ASizeLimitIsAnErrorLikeAFullDisk) {
  std::vector<std::string> words = {"/bin/bash", "-c", "ulimit -f 100; exec \"$@\"", "bash"};
  for (const std::string& word : Optimize(run_, 20, Proposer())) words.push_back(word);
  const Finished limited = RunProgram(words, environment_);
  EXPECT_EQ(limited.exit_code, 6) << limited.err;
  EXPECT_NE(limited.err.find("a size limit is reached"), std::string::npos) << limited.err;
  EXPECT_EQ(Call({"optimize", "--resume", run_, "--quiet"}).exit_code, 0);
  EXPECT_EQ(Attempts(run_).size(), 21u);
}

TEST_F(ResumeTest, WhatIsNotThereIsOneClearError) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"best", "nothing"},
                                             {"export", "nothing"},
                                             {"replay", "nothing"},
                                             {"optimize", "--resume", "nothing"}}) {
    const Finished result = Call(words);
    EXPECT_EQ(result.exit_code, 2) << words[0];
    EXPECT_NE(result.err.find("There is no run \"nothing\""), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
  const Finished optimize = Call({"optimize"});
  EXPECT_EQ(optimize.exit_code, 2);
  EXPECT_NE(optimize.err.find("needs MODEL.py"), std::string::npos) << optimize.err;
}

}  // namespace
}  // namespace cudaagent::test
