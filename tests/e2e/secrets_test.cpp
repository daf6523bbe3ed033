// A key given to the driver is in no file, log, prompt or child environment.
#include "e2e/workbench.h"

namespace cudaagent::test {
namespace {

using SecretsTest = Workbench;

constexpr const char* kKey = "sk-test-4c1f0e5b77d2a9";

// A model that tells all it can find: its own environment and the driver's.
constexpr const char* kNosyModel = R"(
import os, torch
def look():
    found = [repr(dict(os.environ))]
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            found.append(open(f'/proc/{pid}/environ', 'rb').read().decode('latin1'))
        except OSError:
            pass
    return found
SEEN = [text for text in look() if 'sk-test-' + '4c1f0e5b77d2a9' in text]
print('leaks:', len(SEEN))
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    assert not SEEN, 'the key leaked'
    return [torch.randn(4, 4)]
def get_init_inputs():
    return []
)";

TEST_F(SecretsTest, TheModelCannotFindTheKeyAnywhere) {
  // The test itself must not hold the key: its environment lies in /proc too. So env(1) sets it and
  // is replaced by the driver.
  const std::string model = File("nosy.py", kNosyModel);
  const Finished result = RunProgram({"/usr/bin/env", std::string("OPENAI_API_KEY=") + kKey,
                                      kDriver, "optimize", model, "--device", "cpu", "--attempts",
                                      "1", "--proposer", "builtin", "--out", temp_.path() + "/run"},
                                     environment_);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find(kKey), std::string::npos);
  EXPECT_EQ(result.out.find(kKey), std::string::npos);
  for (const std::string& path : FilesWith(kKey)) ADD_FAILURE() << path << " holds the key";
}

}  // namespace
}  // namespace cudaagent::test
