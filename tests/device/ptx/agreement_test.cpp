// The kernels of the agreement test, where no GPU is needed: they run, and both builds of the
// executor agree bit for bit.
#include <gtest/gtest.h>

#include "device/ptx/agreement_kernels.h"
#include "device/ptx/bench.h"

namespace cudaagent::device::ptx::test {
namespace {

TEST(PtxAgreement, BothBuildsGiveTheSameBits) {
  if (!NvrtcMissing().empty()) GTEST_SKIP() << NvrtcMissing();
  for (const AgreementKernel& kernel : AgreementKernels()) {
    std::string ptx = CompileToPtx(AgreementSource(kernel));
    std::vector<float> first;
    for (const Executor* executor : {&BestExecutor(), &BaselineExecutor()}) {
      Bench bench(ptx, *executor);
      Buffer<float> x{"x", AgreementFloats(), false},
          y{"y", std::vector<float>(kAgreementElements), true};
      Buffer<int> n{"n", AgreementIntegers(), false},
          z{"z", std::vector<int>(kAgreementElements), true};
      bench.With(x).With(n).With(y).With(z);
      ASSERT_EQ(bench.Say("k", {1, 1, 1}, {kAgreementThreads, 1, 1}), "ok") << kernel.name;
      for (int value : z.data) y.data.push_back(std::bit_cast<float>(value));
      if (first.empty()) first = y.data;
      EXPECT_EQ(std::memcmp(first.data(), y.data.data(), first.size() * 4), 0) << kernel.name;
    }
    bool any = std::any_of(first.begin(), first.end(), [](float v) { return v != 0; });
    EXPECT_TRUE(any) << kernel.name << " wrote nothing";
  }
}

}  // namespace
}  // namespace cudaagent::device::ptx::test
