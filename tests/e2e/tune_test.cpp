// Tuning on the CPU device, as a user without a GPU runs it.
#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

// Few blocks cannot draw the whole bandwidth, so of the correct ones a small VEC is estimated
// faster. MODE 1 does not compile, 2 is wrong, 3 never ends, 4 asks for more shared memory than
// there is.
constexpr const char* kKernel = R"cu(/*cudaagent
{
  "plan": 1,
  // What to try.
  "tune": {"VEC": [64, 4, 3, 16], "MODE": [0, 1, 2, 3, 4]},  // the first is the default
  "require": ["x.numel % (256 * VEC) == 0", "MODE == 0 || VEC == 64"],
  "steps": [
    {"kernel": "scale<VEC, MODE>", "grid": ["x.numel / (256 * VEC)"], "block": [256],
     "shared_bytes": "MODE == 4 ? 1000000 : 0", "args": ["$x", "$out0", {"f32": 3.25}]}
  ]
}
*/
template <int VEC, int MODE>
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, float factor) {
  static_assert(MODE != 1, "MODE 1 is not written");
  if (MODE == 3) {
    volatile int forever = 1;
    while (forever) {
    }
  }
  const long long first = static_cast<long long>(blockIdx.x) * 256 * VEC + threadIdx.x;
  for (int v = 0; v < VEC; ++v) {
    y[first + v * 256] = x[first + v * 256] * (MODE == 2 ? 3.0f : factor);
  }
}
)cu";

class TuneTest : public Workbench {
 protected:
  std::vector<std::string> Eval(std::vector<std::string> more) const {
    std::vector<std::string> words = {"eval",         kProblems + "scalar_times_matrix.py",
                                      "--const",      "rows=256",
                                      "--const",      "columns=1024",
                                      "--device",     "cpu",
                                      "--tune-limit", "600",
                                      "--json",       "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(TuneTest, TheBestVariantIsFoundAndWrittenBackAndEachFaultDropsOneOnly) {
  const std::string kernel = File("kernel.cu", kKernel);
  const Finished run = Call(Eval({"--tune", "--write-tuned", kernel}));
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const auto row = nlohmann::json::parse(run.out);
  EXPECT_EQ(row["verdict"], "ok");
  const auto& tuning = row["tuning"];
  EXPECT_EQ(tuning["chosen"], (nlohmann::json{{"VEC", 4}, {"MODE", 0}})) << run.out;
  EXPECT_EQ(tuning["tried"], 7);  // VEC = 3 and most of MODE do not satisfy `require`
  EXPECT_EQ(tuning["verified"], 3);
  EXPECT_EQ(tuning["untried"], 0);
  std::map<int, std::string> verdicts;
  for (const auto& variant : tuning["variants"]) {
    if (variant["values"]["VEC"] == 64) verdicts[variant["values"]["MODE"]] = variant["verdict"];
  }
  EXPECT_EQ(verdicts, (std::map<int, std::string>{{0, "ok"},
                                                  {1, "compile_failed"},
                                                  {2, "wrong_result"},
                                                  {3, "timed_out"},
                                                  {4, "launch_rejected"}}))
      << run.out;
  for (const auto& variant : tuning["variants"]) {
    EXPECT_EQ(variant.contains("median_ms"), variant["verdict"] == "ok");
    if (!variant.contains("median_ms")) continue;
    EXPECT_GE(variant["median_ms"], row["candidate"]["median_ms"]);
  }

  std::string expected = kKernel;
  expected.insert(expected.find(",  // the first"), R"(, "tuned": {"VEC": 4, "MODE": 0})");
  EXPECT_EQ(*util::ReadFile(kernel), expected);
  const Finished again = Call(Eval({"--tune", kernel}));
  const auto second = nlohmann::json::parse(again.out);
  EXPECT_FALSE(second.contains("tuning")) << "the values are there already";
  EXPECT_EQ(second["candidate"]["median_ms"], row["candidate"]["median_ms"]);
  EXPECT_EQ(second["candidate_hash"], row["candidate_hash"]);
}

TEST_F(TuneTest, OptimizeTunesWhatIsProposedAndKeepsTheValues) {
  std::string text = kKernel;
  text.replace(text.find("[0, 1, 2, 3, 4]"), 15, "[0, 1]");
  const std::string kernel = File("kernel.cu", text);
  const std::string out = temp_.path() + "/run";
  const Finished run =
      Call({"optimize", kProblems + "scalar_times_matrix.py", "--const", "rows=256", "--const",
            "columns=1024", "--device", "cpu", "--tune-limit", "600", "--attempts", "1", "--out",
            out, "--command", "cat > /dev/null; echo '```cuda'; cat " + kernel + "; echo '```'"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("tuned          MODE = 0, VEC = 4: 3 of 4 combinations verify"),
            std::string::npos)
      << run.out;
  const auto best = util::ReadFile(out + "/best/kernel.cu");
  ASSERT_TRUE(best);
  EXPECT_NE(best->find(R"("tuned": {"VEC": 4, "MODE": 0})"), std::string::npos) << *best;
}

// The second prompt shows the first candidate with the values that tuning wrote into it.
TEST_F(TuneTest, ARunThatTunedReplaysToTheSameBest) {
  std::string text = kKernel;
  text.replace(text.find("[0, 1, 2, 3, 4]"), 15, "[0, 2]");
  const std::string kernel = File("kernel.cu", text);
  const std::string out = temp_.path() + "/run", again = temp_.path() + "/again";
  const Finished run = Call({"optimize", kProblems + "scalar_times_matrix.py", "--const",
                             "rows=256", "--const", "columns=1024", "--device", "cpu",
                             "--tune-limit", "600", "--attempts", "2", "--out", out, "--command",
                             "n=$(grep -c '\"tuned\"'); echo '```cuda'; cat " + kernel +
                                 "; echo \"// prompts with values: $n\"; echo '```'"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::string attempts = Call({"export", out}).out;
  EXPECT_NE(attempts.find("// prompts with values: 0"), std::string::npos) << attempts;
  EXPECT_NE(attempts.find("// prompts with values: 1"), std::string::npos) << attempts;

  const Finished replay = Call({"replay", out, "--out", again, "--quiet"});
  ASSERT_EQ(replay.exit_code, 0) << replay.err;
  const std::string best = Call({"best", again}).out;
  EXPECT_EQ(best, Call({"best", out}).out);
  EXPECT_NE(best.find(R"("tuned": {"VEC": 4, "MODE": 0})"), std::string::npos) << best;
}

TEST_F(TuneTest, WhereAllFailOneSentenceSaysSo) {
  std::string text = kKernel;
  text.replace(text.find("[0, 1, 2, 3, 4]"), 15, "[2, 1, 4]");
  const Finished run = Call(Eval({"--tune", File("kernel.cu", text)}));
  EXPECT_EQ(run.exit_code, 4);
  const auto row = nlohmann::json::parse(run.out);
  EXPECT_EQ(row["verdict"], "wrong_result");
  EXPECT_NE(row["message"].get<std::string>().find("; none of the 2 other combinations"),
            std::string::npos)
      << row["message"];
}

}  // namespace
}  // namespace cudaagent::test
