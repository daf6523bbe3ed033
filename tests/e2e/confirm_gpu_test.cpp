// The best of a run on a GPU is confirmed. Skipped where there is none.
#include <unistd.h>

#include "e2e/workbench.h"
#include "util/file.h"

namespace cudaagent::test {
namespace {

using ConfirmGpuTest = Workbench;

TEST_F(ConfirmGpuTest, TheBestIsJudgedOnceMoreByTurnsWithTorchCompile) {
  if (::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "no GPU: /dev/nvidiactl is missing";
  const std::string out = File("run", "") + ".d";
  const Finished run =
      Call({"optimize", kProblems + "scalar_times_matrix.py", "--const", "rows=4096", "--const",
            "columns=4096", "--attempts", "1", "--json", "--quiet", "--out", out});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const auto best = nlohmann::json::parse(run.out)["best"];
  EXPECT_EQ(best["confirmed"], true);
  const auto& evaluation = best["evaluation"];
  EXPECT_EQ(evaluation["protocol"]["fresh_worker"], true);
  EXPECT_EQ(evaluation["protocol"]["compile_mode"], "default");
  EXPECT_GE(evaluation["compiled_baseline"]["samples"], 10);
  EXPECT_TRUE(evaluation.contains("sol")) << evaluation.dump(1);
  const auto readme = util::ReadFile(out + "/best/README.md");
  ASSERT_TRUE(readme) << readme.error().message;
  EXPECT_NE(readme->find("Confirmed in a fresh worker"), std::string::npos);
}

}  // namespace
}  // namespace cudaagent::test
