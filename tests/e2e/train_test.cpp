// The preset kernelbench runs models in train mode.
#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

const char* const kModel =
    "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.conv = nn.Conv2d(3, 4, 3)\n"
    "        self.bn = nn.BatchNorm2d(4)\n        self.drop = nn.Dropout(P)\n"
    "    def forward(self, x):\n        return torch.relu(self.drop(self.bn(self.conv(x))))\n"
    "def get_inputs():\n    return [torch.rand(2, 3, 8, 8)]\ndef get_init_inputs():\n    return "
    "[]\n";

class TrainTest : public Workbench {
 protected:
  void SetUp() override {
    Workbench::SetUp();
    model_ = File("model.py", "P = 0.0\n" + std::string(kModel));
  }
  // The baseline candidate for this mode.
  std::string Init(const std::string& mode) const {
    const std::string path = temp_.path() + "/" + mode + ".cu";
    const Finished init =
        Call({"init", model_, "--mode", mode, "--device", "cpu", "--out", path, "--quiet"});
    EXPECT_EQ(init.exit_code, 0) << init.err;
    return path;
  }
  nlohmann::json Eval(const std::string& kernel, std::vector<std::string> more) const {
    std::vector<std::string> words = {"eval", model_,   kernel,   "--device",
                                      "cpu",  "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished eval = Call(words);
    EXPECT_NE(eval.out, "") << eval.err;
    return eval.out.empty() ? nlohmann::json() : nlohmann::json::parse(eval.out);
  }
  std::string model_;
};

TEST_F(TrainTest, TheModeDecidesWhichStatisticsARightKernelUses) {
  const std::string batch = Init("train"), running = Init("eval");
  const auto train = Eval(batch, {"--preset", "kernelbench"});
  EXPECT_EQ(train["verdict"], "ok") << train["message"];
  EXPECT_EQ(train["protocol"]["mode"], "train");
  EXPECT_EQ(Eval(running, {"--preset", "kernelbench"})["verdict"], "wrong_result");
  const auto eval = Eval(running, {"--preset", "kernelbench", "--mode", "eval"});
  EXPECT_EQ(eval["verdict"], "ok") << eval["message"];
  EXPECT_EQ(eval["protocol"]["mode"], "eval");
  EXPECT_EQ(Eval(batch, {})["verdict"], "wrong_result");
  EXPECT_EQ(Eval(batch, {"--mode", "train"})["verdict"],
            "ok");  // with hidden variants, redrawn statistics
}

TEST_F(TrainTest, ACandidateMayUpdateItsRunningStatistics) {
  auto text = util::ReadFile(Init("train"), 1 << 20);
  ASSERT_TRUE(text);
  const std::string unused = "null, null, true";
  const size_t at = text->find(unused);
  ASSERT_NE(at, std::string::npos) << *text;
  const std::string updating = File(
      "updating.cu", std::string(*text).replace(at, unused.size(),
                                                "\"$bn.running_mean\", \"$bn.running_var\", true"));
  const auto train = Eval(updating, {"--preset", "kernelbench"});
  EXPECT_EQ(train["verdict"], "ok") << train["message"];
  const auto eval = Eval(updating, {});
  EXPECT_EQ(eval["verdict"], "bad_candidate");
  EXPECT_NE(eval["message"].dump().find("inputs and parameters may only be read"),
            std::string::npos)
      << eval;
}

TEST_F(TrainTest, ActiveDropoutIsAUsageErrorThatNamesTheWayOut) {
  const std::string drops = File("drops.py", "P = 0.2\n" + std::string(kModel));
  const Finished eval =
      Call({"eval", drops, Init("train"), "--device", "cpu", "--preset", "kernelbench"});
  EXPECT_EQ(eval.exit_code, 2) << eval.err;
  EXPECT_NE(eval.err.find("drops.py draws random numbers in train mode (aten::dropout)"),
            std::string::npos)
      << eval.err;
  EXPECT_NE(eval.err.find("use --mode eval"), std::string::npos) << eval.err;
}

}  // namespace
}  // namespace cudaagent::test
