// The driver by itself: start-up, usage errors, streams.
#include <algorithm>

#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

using DriverTest = Workbench;

TEST_F(DriverTest, StartsInUnder50Milliseconds) {
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    const Finished version = Call({"--version"});
    ASSERT_EQ(version.exit_code, 0) << version.err;
    seconds.push_back(version.seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  EXPECT_LT(seconds[10], 0.050);
  RecordProperty("median_ms", std::to_string(seconds[10] * 1000));
}

TEST_F(DriverTest, HelpListsEveryCommandAndEveryExitCode) {
  const Finished help = Call({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"optimize", "runs", "best", "export", "replay", "eval", "init",
                           "describe", "doctor", "130/143"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
}

TEST_F(DriverTest, EveryCommandHelpsItself) {
  for (const char* command :
       {"optimize", "runs", "best", "export", "replay", "eval", "init", "describe", "doctor"}) {
    const Finished help = Call({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_NE(help.out.find(command), std::string::npos) << help.out;
  }
}

TEST_F(DriverTest, AMisspeltCommandIsAUsageErrorThatNamesTheNearest) {
  const Finished result = Call({"optimise", "x.py"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("Did you mean \"optimize\"?"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(DriverTest, AMisspeltFlagIsAUsageErrorThatNamesTheNearest) {
  const Finished result = Call({"optimize", "x.py", "--atempts", "3"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("Did you mean \"--attempts\"?"), std::string::npos) << result.err;
}

TEST_F(DriverTest, HelpIsInGroups) {
  const Finished help = Call({"optimize", "--help"});
  for (const char* title : {"The problem", "The proposer", "Checking and timing", "Output"}) {
    EXPECT_NE(help.out.find(title), std::string::npos) << title;
  }
}

TEST_F(DriverTest, AMissingModelIsAUsageErrorOnStderrAlone) {
  const Finished result = Call({"describe", "/nowhere/model.py"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("/nowhere/model.py"), std::string::npos);
  EXPECT_EQ(result.out, "");
}

TEST_F(DriverTest, AnErrorIsOneDocumentUnderJson) {
  const Finished result = Call({"describe", "/nowhere/model.py", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(result.out)["error"]["code"], "usage");
}

TEST_F(DriverTest, AnUnknownDeviceIsAUsageErrorBeforeAnythingStarts) {
  const Finished result = Call({"describe", kProblems + "softmax.py", "--device", "tpu"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_LT(result.seconds, 1.0);
  EXPECT_NE(result.err.find("tpu"), std::string::npos);
}

TEST_F(DriverTest, AGpuAskedForWhereThereIsNoneIsAnEnvironmentError) {
  environment_["CUDA_VISIBLE_DEVICES"] = "-1";
  const Finished result = Call({"describe", kProblems + "softmax.py", "--device", "gpu"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
}

}  // namespace
}  // namespace cudaagent::test
