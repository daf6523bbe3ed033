// The driver in a folder, home and environment of its own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/run_program.h"
#include "util/file.h"

namespace cudaagent::cli {

class DriverBench : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("driver");
    ASSERT_TRUE(temp) << temp.error().message;
    temp_ = std::move(*temp);
    // As the driver will name it: TMPDIR may be a link.
    root_ = std::filesystem::canonical(temp_.path()).string();
    project_ = root_ + "/project";
    std::filesystem::create_directories(project_ + "/.git");
    environment_ = {{"HOME", root_},
                    {"XDG_CACHE_HOME", root_ + "/cache"},
                    {"XDG_CONFIG_HOME", root_ + "/config"},
                    {"XDG_STATE_HOME", root_ + "/state"},
                    {"CUDAAGENT_PYTHON", ""},
                    {"OPENAI_BASE_URL", ""}};
  }

  // `cudaagent WORDS` in the project's folder, or in `folder` below it.
  test::Finished Call(const std::vector<std::string>& words, const std::string& folder = "") const {
    std::vector<std::string> argv = {"/bin/sh",
                                     "-c",
                                     "cd \"$1\" && shift && exec \"$@\"",
                                     "sh",
                                     project_ + folder,
                                     std::string(CUDAAGENT_BIN_DIR) + "/cudaagent"};
    argv.insert(argv.end(), words.begin(), words.end());
    return test::RunProgram(argv, environment_);
  }
  std::string File(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(util::WriteFileAtomic(path, text));
    return path;
  }
  std::string ProjectFile(const std::string& text) const {
    return File(project_ + "/cudaagent.toml", text);
  }
  std::string UserFile(const std::string& text) const {
    return File(root_ + "/config/cudaagent/config.toml", text);
  }

  // {"value", "origin", ...} of one key, as `config show --json` has it.
  nlohmann::json Shown(const std::string& key, std::vector<std::string> more = {},
                       const std::string& folder = "") const {
    std::vector<std::string> words = {"config", "show", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const test::Finished shown = Call(words, folder);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    const auto json = nlohmann::json::parse(shown.out, nullptr, false);
    if (json.is_discarded()) return {};
    for (const auto& row : json["settings"]) {
      if (row["key"] == key) return row;
    }
    return {};
  }

  util::TempDir temp_;
  std::string root_, project_;
  std::map<std::string, std::string> environment_;
};

}  // namespace cudaagent::cli
