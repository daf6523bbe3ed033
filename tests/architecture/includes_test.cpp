// The rooms are one-way: every #include "room/..." must be an arrow stated in CMakeLists.txt.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using Arrows = std::map<std::string, std::set<std::string>>;

Arrows StatedArrows() {
  Arrows arrows;
  std::ifstream file(CUDAAGENT_ARROWS_FILE);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::set<std::string>& targets = arrows[line.substr(0, colon)];
    std::istringstream rest(line.substr(colon + 1));
    for (std::string room; rest >> room;) targets.insert(room);
  }
  return arrows;
}

template <typename Visit>
void ForEachInclude(const fs::path& root, Visit visit) {
  static const std::regex include(R"(^\s*#\s*include\s*\"([^/\"]+)/([^\"]+)\")");
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".inc") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, include)) visit(entry.path(), match[1].str());
    }
  }
}

TEST(ArchitectureTest, EveryIncludeIsAStatedArrow) {
  const Arrows arrows = StatedArrows();
  ASSERT_GE(arrows.size(), 15u);
  int seen = 0;
  for (const auto& [room, allowed] : arrows) {
    const fs::path folder = fs::path(CUDAAGENT_SOURCE_DIR) / "src" / room;
    ForEachInclude(folder, [&](const fs::path& file, const std::string& target) {
      if (!arrows.contains(target) || target == room) return;
      ++seen;
      EXPECT_TRUE(allowed.contains(target))
          << file << " includes room " << target << ", which CMakeLists.txt does not let " << room
          << " include";
    });
  }
  EXPECT_GT(seen, 10);
}

TEST(ArchitectureTest, NoTwoRoomsIncludeEachOther) {
  const Arrows arrows = StatedArrows();
  for (const auto& [room, targets] : arrows) {
    for (const std::string& target : targets) {
      auto back = arrows.find(target);
      ASSERT_NE(back, arrows.end()) << room << " names an unknown room " << target;
      EXPECT_FALSE(back->second.contains(room)) << room << " and " << target;
    }
  }
}

TEST(ArchitectureTest, TheVocabularyIncludesNoRoomAndNoThirdPartyHeader) {
  const fs::path include = fs::path(CUDAAGENT_SOURCE_DIR) / "include";
  ForEachInclude(include, [&](const fs::path& file, const std::string& target) {
    EXPECT_EQ(target, "cudaagent") << file;
  });
}

TEST(ArchitectureTest, TheDriverLinksNoCudaTorchOrPython) {
  const std::string driver = std::string(CUDAAGENT_BIN_DIR) + "/cudaagent";
  ASSERT_TRUE(fs::exists(driver)) << driver;
  FILE* pipe = popen(("ldd " + driver + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (char buffer[4096]; size_t n = fread(buffer, 1, sizeof buffer, pipe);)
    output.append(buffer, n);
  ASSERT_EQ(pclose(pipe), 0) << output;
  ASSERT_NE(output.find("libc.so"), std::string::npos) << output;
  for (const char* forbidden : {"cuda", "nvrtc", "cupti", "torch", "c10", "python"}) {
    EXPECT_EQ(output.find(std::string("lib") + forbidden), std::string::npos) << output;
  }
}

}  // namespace
