// The loop and one evaluation on the CPU device, as a user without a GPU runs them.
#include <signal.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

using LoopTest = Workbench;

TEST_F(LoopTest, OptimizeEndsWithAVerifiedKernelForTheGpu) {
  const std::string out = temp_.path() + "/run";
  const Finished run =
      Call({"optimize", kProblems + "softmax.py", "--const", "batch_size=64", "--const", "dim=1024",
            "--device", "cpu", "--attempts", "2", "--out", out, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto summary = nlohmann::json::parse(run.out);
  EXPECT_EQ(summary["best"]["evaluation"]["verdict"], "ok");
  EXPECT_EQ(summary["best"]["evaluation"]["device"]["arch"], "sm_90a");
  EXPECT_EQ(summary["best"]["evaluation"]["estimated"], true);
  EXPECT_GE(summary["attempts"].size(), 2u);
  EXPECT_NE(run.err.find("CPU device"), std::string::npos) << run.err;
  auto kernel = util::ReadFile(out + "/best/kernel.cu");
  ASSERT_TRUE(kernel);
  EXPECT_NE(kernel->find("/*cudaagent"), std::string::npos);
  EXPECT_NE(kernel->find("__global__"), std::string::npos);
  EXPECT_NE(summary["best"]["evaluation"]["compile"]["cubin_path"], "");
  auto readme = util::ReadFile(out + "/best/README.md");
  ASSERT_TRUE(readme);
  EXPECT_NE(readme->find("not a measurement"), std::string::npos);

  const Finished again = Call({"eval", kProblems + "softmax.py", "--const", "batch_size=64",
                               "--const", "dim=1024", "--device", "cpu", out + "/best/kernel.cu"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
}

TEST_F(LoopTest, SixFaultsGetSixVerdictsAndTheNextEvaluationWorks) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"wrong", "wrong_result"},
      {"non_compiling", "compile_failed"},
      {"hanging", "timed_out"},
      {"out_of_bounds_by_one", "out_of_bounds"},
      {"crashing", "device_fault"},
      {"plan_invalid", "bad_candidate"},
      {"correct", "ok"}};
  std::vector<std::string> words = {"eval",     kProblems + "scalar_times_matrix.py",
                                    "--const",  "rows=256",
                                    "--const",  "columns=1024",
                                    "--device", "cpu",
                                    "--json",   "--quiet"};
  for (const auto& [name, verdict] : expected) words.push_back(kFaulty + name + ".cu");
  const Finished result = Call(words);
  EXPECT_EQ(result.exit_code, 4) << result.err;
  std::istringstream lines(result.out);
  std::set<std::string> sentences;
  for (const auto& [name, verdict] : expected) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line)) << name << "\n" << result.err;
    const auto row = nlohmann::json::parse(line);
    EXPECT_EQ(row["verdict"], verdict) << name << ": " << row["message"];
    EXPECT_EQ(row["reward"], verdict == "ok" ? 1 : -1) << name;
    sentences.insert(row["message"].get<std::string>());
  }
  EXPECT_EQ(sentences.size(), expected.size());
}

TEST_F(LoopTest, KillingTheDriverLeavesNoChild) {
  RunningProgram driver(
      Words({"optimize", kProblems + "softmax.py", "--const", "batch_size=64", "--const",
             "dim=1024", "--device", "cpu", "--out", temp_.path() + "/run"}),
      environment_);
  const std::string mark = "XDG_CACHE_HOME=" + environment_.at("XDG_CACHE_HOME");
  const auto ours = [&mark] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream environ(entry.path() / "environ");
      const std::string text((std::istreambuf_iterator<char>(environ)), {});
      if (text.find(mark) != std::string::npos) ++count;
    }
    return count;
  };
  for (int i = 0; i < 200 && ours() < 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(ours(), 2);
  kill(driver.pid(), SIGKILL);
  driver.Wait();
  for (int i = 0; i < 100 && ours() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ours(), 0);
}

TEST_F(LoopTest, AModelThatRaisesIsAUsageErrorWithItsLine) {
  const std::string model =
      File("bad.py", "import torch\nclass Model(torch.nn.Module):\n    pass\nundefined_name\n");
  const Finished result = Call({"describe", model, "--device", "cpu", "--quiet"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("bad.py:4"), std::string::npos) << result.err;
}

TEST_F(LoopTest, InitWritesACandidateThatVerifies) {
  const std::string kernel = temp_.path() + "/init.cu";
  const std::vector<std::string> problem = {kProblems + "mlp.py",
                                            "--const",
                                            "batch_size=16",
                                            "--const",
                                            "in_features=64",
                                            "--const",
                                            "hidden=128",
                                            "--const",
                                            "out_features=64",
                                            "--device",
                                            "cpu"};
  std::vector<std::string> words = {"init", "-o", kernel, "-q"};
  words.insert(words.end(), problem.begin(), problem.end());
  const Finished init = Call(words);
  ASSERT_EQ(init.exit_code, 0) << init.err;
  words = {"eval"};
  words.insert(words.end(), problem.begin(), problem.end());
  words.push_back(kernel);
  const Finished result = Call(words);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST_F(LoopTest, EvalInitJudgesTheBaselineWithoutAFile) {
  const Finished result =
      Call({"eval", kProblems + "softmax.py", "--init", "--const", "batch_size=8", "--const",
            "dim=64", "--device", "cpu", "--check-only", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto evaluation = nlohmann::json::parse(result.out);
  EXPECT_EQ(evaluation["verdict"], "ok");
  EXPECT_FALSE(evaluation.contains("candidate"));  // nothing is timed
  EXPECT_FALSE(evaluation.contains("extra_bytes"));
}

TEST_F(LoopTest, APlanOfEveryKindOfPartVerifies) {
  const std::string model = File("parts.py", R"(
import torch
rows, columns = 6, 40
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ParameterList([torch.nn.Parameter(torch.rand(columns)) for _ in range(3)])
    def forward(self, x, scale):
        y = x
        for layer in self.layers:
            y = y * layer + scale
        return {"sum": y.sum(1), "image": (y / columns ** 0.5).to(memory_format=torch.channels_last)}
def get_inputs(): return [torch.rand(2, rows, 4, columns), 0.75]
def get_init_inputs(): return []
)");
  const std::string kernel = File("parts.cu", R"cuda(/*cudaagent
{ "plan": 1, "tune": {"BLOCK": [64]}, "require": ["x.size(3) % 8 == 0"],
  "prepared": {"ws": {"dtype": "float32", "shape": [3, "x.size(3)"]}},
  "prepare": [{"repeat": "i", "count": 3, "steps": [
    {"kernel": "copy", "grid": 1, "block": 64,
     "args": ["$layers.{i}", {"ptr": "$ws", "offset": "i * x.size(3)"}, {"i32": "x.size(3)"}]}]}],
  "buffers": {"sums": {"dtype": "float32", "shape": [2, 4, "x.size(3)"], "zero": true},
              "unused": {"dtype": "float64", "shape": ["1 / 0"], "when": "BLOCK > 64"}},
  "steps": [
    {"kernel": "parts<BLOCK>", "grid": ["ceil_div(x.size(3), BLOCK)", "x.size(2)", "x.size(0)"], "block": ["BLOCK", 1, 1],
     "args": [{"ptrs": ["$x", "$ws", {"ptr": "$out1", "strided": true}, "$sums"]}, {"i32": "x.size(1)"},
              {"i64": "x.size(3)"}, {"f32": {"fexpr": "scale"}}, {"f32": {"fexpr": "1 / sqrt(x.size(3))"}}]},
    {"op": "aten::clone", "args": ["$sums"], "out": "out0", "when": "x.size(1) > 1"} ] }
*/
__global__ void copy(const float* from, float* to, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}
struct Parts { const float* x; const float* ws; float* image; float* sums; };
template <int BLOCK> __global__ void parts(Parts p, int channels, long long columns, float scale, float norm) {
  const long long w = blockIdx.x * BLOCK + threadIdx.x, h = blockIdx.y, n = blockIdx.z, height = gridDim.y;
  if (w >= columns) return;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    float y = p.x[((n * channels + c) * height + h) * columns + w];
    for (int l = 0; l < 3; ++l) y = y * p.ws[l * columns + w] + scale;
    sum += y;
    p.image[((n * height + h) * columns + w) * channels + c] = y * norm;  // channels last
  }
  p.sums[(n * height + h) * columns + w] += sum;
}
)cuda");
  const Finished result = Call({"eval", model, kernel, "--device", "cpu", "--json", "--quiet",
                                "--also-const", "rows=3,columns=80", "--also-const", "columns=41"});
  const auto evaluation = nlohmann::json::parse(result.out);
  EXPECT_EQ(evaluation["verdict"], "ok") << evaluation["message"];
  EXPECT_EQ(evaluation["prepare"]["bytes"], 3 * 40 * 4);
  ASSERT_EQ(evaluation["also"].size(), 2u);
  EXPECT_EQ(evaluation["also"][0]["verdict"], "ok") << evaluation["also"];
  EXPECT_EQ(evaluation["also"][1]["refused"], true) << evaluation["also"];
  EXPECT_EQ(result.exit_code, 4);

  const Finished refused =
      Call({"eval", model, kernel, "--device", "cpu", "--json", "--quiet", "--no-prepare"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.out.find("--no-prepare"), std::string::npos) << refused.out;
}

TEST_F(LoopTest, EvalNeedsEitherAKernelOrInit) {
  EXPECT_EQ(Call({"eval", kProblems + "softmax.py"}).exit_code, 2);
  EXPECT_EQ(Call({"eval", kProblems + "softmax.py", "--init", "kernel.cu"}).exit_code, 2);
}

TEST_F(LoopTest, ARandomModelHasNoBaselineAndOneSentenceSaysWhy) {
  const std::string model = File("noise.py",
                                 "import torch\nclass Model(torch.nn.Module):\n"
                                 "    def forward(self, x):\n        return x + torch.randn(4)\n"
                                 "def get_inputs(): return [torch.rand(4)]\n"
                                 "def get_init_inputs(): return []\n");
  const Finished result =
      Call({"eval", model, "--init", "--device", "cpu", "--check-only", "--json"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.out.find("forward draws random numbers (aten::randn)"), std::string::npos)
      << result.out;
}

}  // namespace
}  // namespace cudaagent::test
