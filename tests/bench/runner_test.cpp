// The runner with children that misbehave: every job gets its row, and the others theirs.
#include "bench/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "util/file.h"
#include "util/time.h"

namespace cudaagent::bench {
namespace {

using testing::HasSubstr;

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() : temp_(std::move(*util::TempDir::Create("runner"))) {
    options_.devices = {"cpu", "cpu"};
    options_.log_folder = temp_.path() + "/logs";
    options_.problem_timeout_s = 30;
  }
  // What a child does is its problem's name.
  void Work(const Task& task, const std::string& device, const Voice& voice) {
    const std::string& what = task.problem.name;
    const std::string ready = std::filesystem::path(options_log_).parent_path().string() + "/ready";
    if (voice.await_turn) {
      std::ofstream(ready) << "up";
      if (what == "dies standing by") _exit(3);
      uuid_ = voice.await_turn();
    }
    if (what == "starts slowly") usleep(2'500'000);
    if (what == "never starts") pause();
    voice.begin();
    for (const Sample& sample : task.samples) {
      Row row = RowOf(task.problem, sample.number);
      row.device = device;
      row.outcome = what == "sick" ? Outcome::kInfraError : Outcome::kCorrect;
      if (what == "throws") throw std::runtime_error("a bug");
      if (what == "crashes") abort();
      if (what == "exits") _exit(0);
      if (what == "hangs") {
        while (true) pause();
      }
      if (what == "eats") {
        std::vector<std::string> hoard;
        while (hoard.size() < 40) {
          hoard.emplace_back(32 << 20, 'x');
          usleep(50'000);
        }
      }
      // Its row says whether the next task's process was up while this one ran.
      for (int i = 0; what == "looks" && i < 100 && !std::filesystem::exists(ready); ++i)
        usleep(50'000);
      if (what == "looks") row.message = std::filesystem::exists(ready) ? "up" : "down";
      if (what == "looks") {
        row.evaluation.emplace();
        row.evaluation->verdict = Verdict::kOk;
        row.evaluation->device.uuid = "GPU-7";
      }
      if (what == "listens") row.message = uuid_;
      if (what == "noisy") voice.emit(row), voice.emit(row);
      voice.emit(std::move(row));
    }
  }
  RunnerEnd Run(const std::vector<std::string>& names, int samples = 1) {
    std::vector<Task> tasks;
    for (const std::string& name : names) {
      Task task;
      task.problem.name = name;
      task.problem.key = name + std::to_string(tasks.size());
      for (int i = 0; i < samples; ++i) task.samples.push_back({i, ""});
      tasks.push_back(task);
    }
    RunnerCallbacks callbacks;
    options_log_ = options_.log_folder;
    callbacks.work = [this](const Task& task, const std::string& device, const Voice& voice) {
      Work(task, device, voice);
    };
    callbacks.salvage = [](const Task& task, const Sample& sample, Cause cause,
                           const std::string& words) {
      Row row = RowOf(task.problem, sample.number);
      row.outcome = cause == Cause::kTimeout  ? Outcome::kTimedOut
                    : cause == Cause::kMemory ? Outcome::kProblemFailed
                                              : Outcome::kInfraError;
      row.message = words;
      return row;
    };
    callbacks.on_row = [this](Row row) -> Result<void> {
      ++count_[row.name];
      rows_[row.name] = row;
      return {};
    };
    callbacks.on_tick = [](const auto&) {};
    callbacks.stop_signal = [this] { return watch_.Seconds() > stop_after_ ? SIGTERM : 0; };
    return RunTasks(tasks, options_, callbacks);
  }

  util::TempDir temp_;
  std::string options_log_, uuid_;
  RunnerOptions options_;
  std::map<std::string, Row> rows_;
  std::map<std::string, int> count_;
  util::Stopwatch watch_;
  double stop_after_ = 1e9;
};

TEST_F(RunnerTest, AChildThatThrowsCrashesOrExitsGetsItsRowAndTheOthersTheirs) {
  const RunnerEnd end = Run({"fine", "throws", "crashes", "exits", "noisy", "good"});
  EXPECT_FALSE(end.error.has_value());
  for (const auto& [name, count] : count_) EXPECT_EQ(count, 1) << name;
  ASSERT_EQ(rows_.size(), 6u);
  for (const char* name : {"fine", "noisy", "good"})
    EXPECT_EQ(rows_[name].outcome, Outcome::kCorrect) << name;
  EXPECT_EQ(rows_["throws"].message, "Internal error: a bug");
  EXPECT_THAT(rows_["crashes"].message, HasSubstr("SIGABRT"));
  EXPECT_THAT(rows_["exits"].message, HasSubstr("exited with status 0"));
}

TEST_F(RunnerTest, AHangEndsAtTheProblemsTimeout) {
  options_.problem_timeout_s = 0.5;
  Run({"hangs", "fine"});
  EXPECT_EQ(rows_["hangs"].outcome, Outcome::kTimedOut);
  EXPECT_THAT(rows_["hangs"].message, HasSubstr("--problem-timeout"));
  EXPECT_EQ(rows_["fine"].outcome, Outcome::kCorrect);
  EXPECT_LT(watch_.Seconds(), 15);
}

TEST_F(RunnerTest, AWorkersStartIsNoneOfTheProblemsTime) {
  options_.problem_timeout_s = 1.5;
  Run({"starts slowly"});
  EXPECT_EQ(rows_["starts slowly"].outcome, Outcome::kCorrect) << rows_["starts slowly"].message;
}

TEST_F(RunnerTest, AWorkerThatNeverStartsIsTheMachinesFault) {
  options_.start_timeout_s = 0.5;
  Run({"never starts", "fine"});
  EXPECT_EQ(rows_["never starts"].outcome, Outcome::kInfraError);
  EXPECT_THAT(rows_["never starts"].message, HasSubstr("was not ready"));
  EXPECT_EQ(rows_["fine"].outcome, Outcome::kCorrect);
}

TEST_F(RunnerTest, WhatEatsMemoryIsKilledBeforeTheMachineSuffers) {
  options_.memory_bytes = 256 << 20;
  Run({"eats", "fine"});
  EXPECT_EQ(rows_["eats"].outcome, Outcome::kProblemFailed);
  EXPECT_THAT(rows_["eats"].message, HasSubstr("--memory-limit"));
  EXPECT_EQ(rows_["fine"].outcome, Outcome::kCorrect);
}

TEST_F(RunnerTest, EverySampleOfATaskHasARow) {
  Run({"crashes", "fine"}, 3);
  EXPECT_EQ(count_["crashes"], 3);
  EXPECT_EQ(count_["fine"], 3);
}

TEST_F(RunnerTest, ASickDeviceIsGivenUp) {
  options_.devices = {"gpu:0"};
  options_.max_infra_errors = 2;
  const RunnerEnd end = Run({"sick", "fine", "sick", "sick", "never"});
  ASSERT_EQ(end.sick.size(), 1u);
  EXPECT_EQ(end.sick[0], "gpu:0");
  EXPECT_EQ(count_["sick"], 3);  // one good row between begins the count anew
  EXPECT_EQ(count_["never"], 0);
}

TEST_F(RunnerTest, TheNextTaskStandsByAndGoesOnWhenTheDeviceIsFree) {
  options_.devices = {"gpu:0"};
  const RunnerEnd end = Run({"looks", "listens", "fine"});
  EXPECT_FALSE(end.error.has_value());
  EXPECT_EQ(rows_["looks"].message, "up");
  EXPECT_EQ(rows_["listens"].message, "GPU-7");
  EXPECT_EQ(rows_["fine"].outcome, Outcome::kCorrect);
  for (const auto& [name, count] : count_) EXPECT_EQ(count, 1) << name;
}

TEST_F(RunnerTest, OneThatDiesStandingByCostsItsOwnRow) {
  options_.devices = {"gpu:0"};
  Run({"looks", "dies standing by", "fine"});
  EXPECT_EQ(rows_["looks"].message, "up");
  EXPECT_EQ(rows_["dies standing by"].outcome, Outcome::kInfraError);
  EXPECT_EQ(rows_["fine"].outcome, Outcome::kCorrect);
}

TEST_F(RunnerTest, AnInterruptionLeavesTheRestWithoutRows) {
  stop_after_ = 0.4;
  options_.problem_timeout_s = 2;
  options_.devices = {"cpu"};
  const RunnerEnd end = Run({"hangs", "never"});
  EXPECT_TRUE(end.interrupted);
  EXPECT_EQ(count_["never"], 0);
}

}  // namespace
}  // namespace cudaagent::bench
