// Runs the real programs with a cache and a working folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/run_program.h"
#include "util/file.h"

namespace cudaagent::test {

inline const std::string kDriver = std::string(CUDAAGENT_BIN_DIR) + "/cudaagent";
inline const std::string kProblems = std::string(CUDAAGENT_SOURCE_DIR) + "/benchmarks/problems/";
inline const std::string kFaulty = std::string(CUDAAGENT_SOURCE_DIR) + "/kernels/faulty/";

class Workbench : public testing::Test {
 protected:
  void SetUp() override {
    auto temp = util::TempDir::Create("e2e");
    ASSERT_TRUE(temp) << temp.error().message;
    temp_ = std::move(*temp);
    environment_ = {{"XDG_CACHE_HOME", temp_.path() + "/cache"},
                    {"XDG_CONFIG_HOME", temp_.path() + "/config"},
                    {"XDG_STATE_HOME", temp_.path() + "/state"}};
  }

  std::vector<std::string> Words(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kDriver);
    return arguments;
  }
  Finished Call(std::vector<std::string> arguments) const {
    return RunProgram(Words(std::move(arguments)), environment_);
  }
  // Writes a file into the working folder and returns its path.
  std::string File(const std::string& name, const std::string& text) const {
    const std::string path = temp_.path() + "/" + name;
    EXPECT_TRUE(util::WriteFileAtomic(path, text));
    return path;
  }
  // Every file below the working folder whose content holds `needle`.
  std::vector<std::string> FilesWith(const std::string& needle) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temp_.path())) {
      if (!entry.is_regular_file()) continue;
      auto text = util::ReadFile(entry.path(), size_t{256} << 20);
      if (text && text->find(needle) != std::string::npos) found.push_back(entry.path());
    }
    return found;
  }

  util::TempDir temp_;
  std::map<std::string, std::string> environment_;
};

}  // namespace cudaagent::test
