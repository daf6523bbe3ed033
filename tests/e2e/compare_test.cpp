// `compare` on what `eval --json` prints. The CPU device's estimates are exact: no noise decides.
#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

class CompareTest : public Workbench {
 protected:
  // A kernel that scales `per_thread` elements a thread, `columns` of them a step apart.
  std::string Kernel(const std::string& name, const std::string& index) const {
    return File(name, R"cu(/*cudaagent
{"plan": 1,
 "steps": [{"kernel": "scale", "grid": ["x.numel / 256"], "block": [256],
            "args": ["$x", "$out0", {"f32": 3.25}, {"i64": "x.numel"}]}]}
*/
__global__ void scale(const float* x, float* y, float factor, long long n) {
  const long long t = blockIdx.x * 256LL + threadIdx.x;
  const long long i = )cu" +
                          index + R"cu(;
  y[i] = x[i] * factor;
}
)cu");
  }
  std::string Evaluate(const std::string& kernel) const {
    const Finished run =
        Call({"eval", kProblems + "scalar_times_matrix.py", kernel, "--const", "rows=512",
              "--const", "columns=1024", "--device", "cpu", "--json", "--quiet"});
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    return run.out;
  }
};

TEST_F(CompareTest, TheOneThatMovesFewerSectorsIsFaster) {
  const std::string near = File("near.json", Evaluate(Kernel("near.cu", "t")));
  // Neighbours in a warp are 256 elements apart: each has a sector of its own.
  const std::string far =
      File("far.json", Evaluate(Kernel("far.cu", "t % (n / 256) * 256 + t / (n / 256)")));

  const Finished faster = Call({"compare", near, far});
  EXPECT_EQ(faster.exit_code, 0) << faster.err;
  EXPECT_EQ(faster.out.find("FASTER"), 0u) << faster.out;
  const Finished slower = Call({"compare", far, near, "--json"});
  EXPECT_EQ(slower.exit_code, 5) << slower.out << slower.err;
  EXPECT_EQ(nlohmann::json::parse(slower.out)["relation"], "slower");
  const Finished same = Call({"compare", near, near});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out.find("SAME"), 0u) << same.out;
}

TEST_F(CompareTest, WhatCannotBeComparedIsOneClearError) {
  const std::string right = Evaluate(Kernel("right.cu", "t"));
  const std::string one = File("one.json", right);
  const Finished several = Call({"compare", File("two.json", right + right), one});
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_NE(several.err.find("two.json holds several evaluations."), std::string::npos)
      << several.err;
  const Finished neither = Call({"compare", one, File("garbage.json", "\xff\xfe{")});
  EXPECT_EQ(neither.exit_code, 2);
  EXPECT_NE(neither.err.find("garbage.json holds no evaluation"), std::string::npos) << neither.err;
  const Finished absent = Call({"compare", one, "nowhere"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("There is no run \"nowhere\""), std::string::npos) << absent.err;
}

}  // namespace
}  // namespace cudaagent::test
