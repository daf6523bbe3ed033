#include <utime.h>

#include <ctime>

#include "cli/driver_bench.h"

namespace cudaagent::cli {
namespace {

class CacheTest : public DriverBench {
 protected:
  std::string Cache() const { return root_ + "/cache/cudaagent"; }
  // A compiled kernel of `bytes` that was last used `age` seconds ago.
  std::string Cubin(const std::string& key, size_t bytes, int age) const {
    const std::string entry = Cache() + "/cubins/entries/" + key.substr(0, 2) + "/" + key;
    File(entry + "/kernel.cubin", std::string(bytes, 'x'));
    Age(File(entry + "/reply.json", ""), age);
    return entry;
  }
  std::string Baseline(const std::string& name, int age) const {
    const std::string path = File(Cache() + "/baselines/" + name + ".json", std::string(10, 'b'));
    Age(path, age);
    return path;
  }
  static void Age(const std::string& path, int age) {
    const utimbuf times{std::time(nullptr) - age, std::time(nullptr) - age};
    EXPECT_EQ(::utime(path.c_str(), &times), 0);
  }
  nlohmann::json Json(std::vector<std::string> words) const {
    words.push_back("--json");
    const test::Finished result = Call(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
};

bool There(const std::string& path) { return std::filesystem::exists(path); }

TEST_F(CacheTest, StatOfNothingIsZeroAndMakesNoFolder) {
  const auto json = Json({"cache", "stat"});
  EXPECT_EQ(json["cubins"]["entries"], 0);
  EXPECT_EQ(json["bytes"], 0);
  EXPECT_FALSE(There(Cache()));
}

TEST_F(CacheTest, StatCountsCubinsBaselinesAndTheRest) {
  Cubin("aa1", 1000, 0);
  Cubin("ab2", 500, 0);
  Baseline("one", 0);
  File(Cache() + "/cubins/scratch/run-1/0.pch", std::string(77, 'p'));
  const auto json = Json({"cache", "stat"});
  EXPECT_EQ(json["path"], Cache());
  EXPECT_EQ(json["cubins"]["entries"], 2);
  EXPECT_EQ(json["cubins"]["bytes"], 1500);
  EXPECT_EQ(json["baselines"]["entries"], 1);
  EXPECT_EQ(json["baselines"]["bytes"], 10);
  EXPECT_EQ(json["other"]["bytes"], 77);
  EXPECT_EQ(json["bytes"], 1587);
}

TEST_F(CacheTest, GcRemovesWhatWasUsedLongestAgoUntilAllFits) {
  const std::string oldest = Cubin("aa1", 1000, 90000);
  const std::string middle = Baseline("one", 80000);
  const std::string newer = Cubin("aa2", 1000, 70000);
  const auto dry = Json({"cache", "gc", "--max-size", "1500", "--dry-run"});
  EXPECT_EQ(dry["removed"], 1);
  EXPECT_TRUE(There(oldest));
  const auto json = Json({"cache", "gc", "--max-size", "1500"});
  EXPECT_EQ(json["removed"], 1);
  EXPECT_EQ(json["removed_bytes"], 1000);
  EXPECT_EQ(json["remaining_bytes"], 1010);
  EXPECT_FALSE(There(oldest));
  EXPECT_TRUE(There(middle));
  EXPECT_TRUE(There(newer));
}

TEST_F(CacheTest, GcRemovesWhatWasNotUsedForTheTimeGiven) {
  const std::string cubin = Cubin("aa1", 10, 40 * 86400);
  const std::string baseline = Baseline("one", 31 * 86400);
  const std::string newer = Cubin("aa2", 10, 86400);
  EXPECT_EQ(Json({"cache", "gc", "--older-than", "30d"})["removed"], 2);
  EXPECT_FALSE(There(cubin));
  EXPECT_FALSE(There(baseline));
  EXPECT_TRUE(There(newer));
}

TEST_F(CacheTest, GcLeavesWhatARunMayBeAboutToLoad) {
  const std::string used = Cubin("aa1", 1000, 5);
  EXPECT_EQ(Json({"cache", "gc", "--max-size", "0"})["removed"], 0);
  EXPECT_TRUE(There(used));
}

TEST_F(CacheTest, ClearAsksForAWordFirst) {
  const std::string cubin = Cubin("aa1", 1000, 5);
  const std::string baseline = Baseline("one", 5);
  const test::Finished refused = Call({"cache", "clear"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--yes"), std::string::npos) << refused.err;
  EXPECT_EQ(Json({"cache", "clear", "--dry-run"})["removed"], 2);
  EXPECT_TRUE(There(cubin));
  EXPECT_EQ(Json({"cache", "clear", "--yes"})["removed"], 2);
  EXPECT_FALSE(There(cubin));
  EXPECT_FALSE(There(baseline));
}

TEST_F(CacheTest, ASizeThatIsNoneIsAUsageError) {
  EXPECT_EQ(Call({"cache", "gc", "--max-size", "lots"}).exit_code, 2);
  EXPECT_EQ(Call({"cache", "gc", "--older-than", "ages"}).exit_code, 2);
}

}  // namespace
}  // namespace cudaagent::cli
