// Tuning on a GPU: real times, halving. Skipped where there is none.
#include <unistd.h>

#include <limits>

#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

// REPEAT reads everything so many times: the time grows with it. MODE 1 writes far out of bounds,
// which costs the worker.
constexpr const char* kKernel = R"cu(/*cudaagent
{
  "plan": 1,
  "tune": {"REPEAT": [16, 8, 4, 2, 1], "BLOCK": [256, 128], "MODE": [0, 1]},
  "require": ["MODE == 0 || REPEAT == 8 && BLOCK == 128"],
  "steps": [
    {"kernel": "scale<REPEAT, BLOCK, MODE>", "grid": ["ceil_div(x.numel, BLOCK)"], "block": ["BLOCK"],
     "args": ["$x", "$out0", {"i64": "x.numel"}, {"f32": 3.25}]}
  ]
}
*/
template <int REPEAT, int BLOCK, int MODE>
__global__ void scale(const float* x, float* y, long long n, float factor) {
  const long long stride = static_cast<long long>(gridDim.x) * BLOCK;
  const long long i = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int r = 0; r < REPEAT; ++r) {
    sum += static_cast<const volatile float*>(x)[(i + r * (stride / REPEAT)) % n] * 1e-30f;
  }
  y[i + (MODE == 1 ? (1ll << 42) : 0)] = x[i] * factor + sum;
}
)cu";

using TuneGpuTest = Workbench;

TEST_F(TuneGpuTest, TheFastestVariantWinsAfterHalving) {
  if (::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "no GPU: /dev/nvidiactl is missing";
  const Finished run = Call({"eval", kProblems + "scalar_times_matrix.py", "--const", "rows=4096",
                             "--const", "columns=4096", "--baseline", "eager", "--json", "--quiet",
                             "--tune", File("kernel.cu", kKernel)});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const auto row = nlohmann::json::parse(run.out);
  const auto& tuning = row["tuning"];
  EXPECT_EQ(tuning["chosen"]["REPEAT"], 1) << run.out;
  EXPECT_EQ(tuning["tried"], 11) << run.out;
  EXPECT_EQ(tuning["verified"], 10) << run.out;
  EXPECT_GE(row["candidate"]["samples"], 10) << "the winner is timed like any candidate";
  EXPECT_EQ(row["check"]["passed"], 5);
  EXPECT_TRUE(row.contains("speedup_eager"));
  double slowest = 0, fastest = std::numeric_limits<double>::max();
  for (const auto& variant : tuning["variants"]) {
    if (variant["verdict"] != "ok") {
      EXPECT_EQ(variant["values"]["MODE"], 1);
      continue;
    }
    slowest = std::max(slowest, variant["median_ms"].get<double>());
    fastest = std::min(fastest, variant["median_ms"].get<double>());
  }
  EXPECT_GT(slowest, 2 * fastest);
  EXPECT_NEAR(fastest, row["candidate"]["median_ms"], 0.1 * fastest);
}

}  // namespace
}  // namespace cudaagent::test
