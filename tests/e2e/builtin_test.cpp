// The built-in proposer on our own problems, small, on the CPU device.
#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

struct SmallProblem {
  std::string name;
  std::vector<std::string> constants;
};

class BuiltinTest : public Workbench, public testing::WithParamInterface<SmallProblem> {};

TEST_P(BuiltinTest, EndsWithACorrectKernel) {
  const SmallProblem& problem = GetParam();
  std::vector<std::string> words = {"optimize",
                                    kProblems + problem.name + ".py",
                                    "--proposer",
                                    "builtin",
                                    "--device",
                                    "cpu",
                                    "--attempts",
                                    "2",
                                    "--trials",
                                    "2",
                                    "--json",
                                    "--out",
                                    temp_.path() + "/run"};
  for (const std::string& constant : problem.constants) {
    words.push_back("--const");
    words.push_back(constant);
  }
  const Finished run = Call(words);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto summary = nlohmann::json::parse(run.out);
  EXPECT_EQ(summary["best"]["evaluation"]["verdict"], "ok");
  for (const auto& attempt : summary["attempts"]) {
    EXPECT_EQ(attempt["verdict"], "ok") << attempt;
  }
  // A candidate with kernels of its own, not the baseline again.
  ASSERT_GE(summary["attempts"].size(), 2u);
  EXPECT_EQ(summary["attempts"][1].dump().find("No built-in rule"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Problems, BuiltinTest,
    testing::Values(
        SmallProblem{"log_softmax_nll", {"batch_size=64", "classes=512"}},
        SmallProblem{"layer_norm_residual", {"tokens=64", "dim=512"}},
        SmallProblem{"depthwise_conv", {"batch_size=2", "channels=8", "size=16"}},
        SmallProblem{"attention_block", {"batch_size=2", "sequence=32", "dim=64", "heads=4"}},
        SmallProblem{"resnet_block", {"batch_size=2", "channels=8", "size=12"}},
        SmallProblem{"gru", {"batch_size=4", "steps=8", "in_features=16", "hidden=32"}},
        SmallProblem{"cumulative_sum", {"rows=16", "columns=3000"}},
        SmallProblem{"embedding_sum", {"sentences=32", "words=16", "vocabulary=500", "dim=64"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cudaagent::test
