// `bench` refuses bad input before its folder is there, so that the corrected call is not refused.
#include <filesystem>

#include "cli/driver_bench.h"

namespace cudaagent::cli {
namespace {

namespace fs = std::filesystem;
using test::Finished;

class BenchInputsTest : public DriverBench {
 protected:
  void SetUp() override {
    DriverBench::SetUp();
    File(root_ + "/suite/level1/1_P.py", "# one\n");
    File(root_ + "/suite/level1/2_Q.py", "# two\n");
  }
  static std::string Entry(const std::string& runtime) {
    return R"({"1": [{"sample_id": 0, "compiled": true, "correctness": true, "runtime": )" +
           runtime + R"(, "metadata": {}}]})";
  }
  Finished Bench(const std::string& results, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"bench",
                                      "--suite",
                                      root_ + "/suite",
                                      "--level",
                                      "1",
                                      "--device",
                                      "cpu",
                                      "--out",
                                      Out(),
                                      "--results",
                                      File(root_ + "/results.json", results)};
    words.insert(words.end(), more.begin(), more.end());
    return Call(words);
  }
  std::string Out() const { return root_ + "/out"; }
};

TEST_F(BenchInputsTest, BadResultsLeaveNoFolderBehind) {
  for (const std::string& bad :
       {std::string("[]"), std::string("{\"1\": [3]}"), Entry("0"), Entry("NaN")}) {
    const Finished refused = Bench(bad);
    EXPECT_EQ(refused.exit_code, 2) << bad << refused.err;
    EXPECT_FALSE(fs::exists(Out())) << bad;
  }
  const Finished good = Bench(Entry("2.0"));
  EXPECT_EQ(good.exit_code, 0) << good.err;
}

TEST_F(BenchInputsTest, TimesThatMeetNothingAreSaid) {
  const std::string times = File(
      root_ + "/eager.json", R"({"level1": {"2_Q.py": {"mean": 3.0}, "9_Z.py": {"mean": 4.0}}})");
  const Finished told = Bench(Entry("2.0"), {"--eager-times", times});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.err.find("1 times of " + times +
                          " belong to none of the chosen problems: level1/9_Z.py"),
            std::string::npos)
      << told.err;
  EXPECT_NE(told.err.find("1 correct problems have no time in"), std::string::npos) << told.err;
}

TEST_F(BenchInputsTest, OutputsThatCannotBeWrittenAreSaidAtTheStart) {
  for (const char* flag : {"--csv", "--junit", "--md"}) {
    const Finished refused = Bench(Entry("2.0"), {flag, root_ + "/none/file"});
    EXPECT_EQ(refused.exit_code, 6) << flag << refused.err;
    EXPECT_NE(refused.err.find(flag), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(Out())) << flag;
  }
  const Finished same = Bench(Entry("2.0"), {"--csv", root_ + "/x", "--md", root_ + "/suite/../x"});
  EXPECT_EQ(same.exit_code, 2) << same.err;
  const Finished both = Bench(Entry("2.0"), {"--junit", "-", "--json"});
  EXPECT_EQ(both.exit_code, 2) << both.err;
  EXPECT_FALSE(fs::exists(Out()));
}

TEST_F(BenchInputsTest, JunitOnStdoutIsAloneThere) {
  const Finished shown = Bench(Entry("2.0"), {"--junit", "-"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out.rfind("<?xml", 0), 0u) << shown.out;
  EXPECT_EQ(shown.out.find("fast_p"), std::string::npos);
  EXPECT_NE(shown.err.find("fast_p"), std::string::npos);
  EXPECT_FALSE(fs::exists(project_ + "/-"));
}

TEST_F(BenchInputsTest, AScoreThatCannotBeIsSaidAtTheStart) {
  for (const char* gate : {"pass@0=0.5", "fast_x=0.5"}) {
    const Finished refused = Bench(Entry("2.0"), {"--fail-under", gate});
    EXPECT_EQ(refused.exit_code, 2) << gate << refused.err;
    EXPECT_FALSE(fs::exists(Out())) << gate;
  }
}

}  // namespace
}  // namespace cudaagent::cli
