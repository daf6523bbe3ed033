// Golden files of this folder. CUDAAGENT_UPDATE_GOLDEN=1 writes what the test made instead.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "load_problem.h"

namespace cudaagent::test {

inline std::string TestFile(const std::string& name) {
  return std::string(CUDAAGENT_SOURCE_DIR) + "/tests/rewrite/" + name;
}

inline std::string Golden(const std::string& name, const std::string& made) {
  const std::string path = TestFile("golden/" + name);
  if (std::getenv("CUDAAGENT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << made;
    return made;
  }
  return ReadText(path);
}

}  // namespace cudaagent::test
