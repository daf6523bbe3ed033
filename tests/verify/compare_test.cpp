#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "verify/tiers.h"
#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

using testing::HasSubstr;

// 64 x 8 distinct values around 1.
at::Tensor Matrix(int64_t rows = 64, int64_t columns = 8) {
  at::manual_seed(7);
  return at::rand({rows, columns}) + 0.5;
}

CheckReport Compare(const at::Tensor& got, const at::Tensor& expected,
                    const std::string& tier = "verified") {
  CheckReport report;
  auto compared = CompareOutputs({got}, {expected}, {}, tier, &report);
  EXPECT_EQ(compared.has_value(), !report.mismatch.has_value());
  return report;
}

std::string FaultOf(const at::Tensor& got, const at::Tensor& expected,
                    const std::string& tier = "verified") {
  CheckReport report;
  auto compared = CompareOutputs({got}, {expected}, {}, tier, &report);
  if (compared) return "passed";
  EXPECT_EQ(compared.error().verdict, Verdict::kWrongResult);
  return compared.error().message;
}

std::string HintOf(const at::Tensor& got, const at::Tensor& expected) {
  const CheckReport report = Compare(got, expected);
  return report.mismatch ? report.mismatch->hint : "passed";
}

bool TierPassed(const CheckReport& report, const std::string& name) {
  for (const TierResult& tier : report.tiers) {
    if (tier.name == name) return tier.passed;
  }
  ADD_FAILURE() << "tier " << name << " is not reported";
  return false;
}

TEST(CompareTest, PassesEqualOutputs) {
  const at::Tensor expected = Matrix();
  const CheckReport report = Compare(expected.clone(), expected);
  EXPECT_EQ(report.max_abs_error, 0);
  ASSERT_EQ(report.tiers.size(), 3u);
  for (const TierResult& tier : report.tiers) EXPECT_TRUE(tier.passed) << tier.name;
}

TEST(CompareTest, ReportsEveryTierAndLetsOneDecide) {
  const at::Tensor expected = Matrix();
  const at::Tensor got = expected * 1.001;  // a scaled error between 3e-4 and 8e-4
  const CheckReport report = Compare(got, expected, "verified");
  EXPECT_FALSE(report.mismatch);
  EXPECT_FALSE(TierPassed(report, "kernelbench"));
  EXPECT_TRUE(TierPassed(report, "verified"));
  EXPECT_TRUE(TierPassed(report, "cuda-agent"));
  EXPECT_TRUE(Compare(got, expected, "kernelbench").mismatch);
}

TEST(CompareTest, AppliesAtolScaledByTheRms) {
  at::Tensor expected = at::full({1024}, 2e-6);
  // A fixed atol of 1e-3 would let zeros pass here.
  EXPECT_NE(FaultOf(at::zeros({1024}), expected, "cuda-agent"), "passed");
  at::Tensor got = expected.clone();
  got[5] += 3.9e-9;  // allowed: 1e-3 * (2e-6 + 2e-6) = 4e-9
  EXPECT_EQ(FaultOf(got, expected), "passed");
  got[5] += 0.3e-9;
  EXPECT_NE(FaultOf(got, expected), "passed");
}

TEST(CompareTest, TakesTolerancesFromTheOutputsType) {
  EXPECT_EQ(TierTolerance("verified", at::kFloat), 1e-3);
  EXPECT_EQ(TierTolerance("verified", at::kHalf), 2e-3);
  EXPECT_EQ(TierTolerance("verified", at::kBFloat16), 1.6e-2);
  EXPECT_EQ(TierTolerance("kernelbench", at::kFloat), 1e-4);
  EXPECT_EQ(TierTolerance("kernelbench", at::kHalf), 1e-2);
  EXPECT_EQ(TierTolerance("cuda-agent", at::kFloat), 1e-2);
  EXPECT_FALSE(TierTolerance("strictest", at::kFloat));
  const at::Tensor expected = Matrix().to(at::kBFloat16);
  EXPECT_EQ(FaultOf((expected.to(at::kFloat) * 1.012).to(at::kBFloat16), expected), "passed");
  EXPECT_NE(FaultOf(expected.to(at::kHalf) * 1.012, expected.to(at::kHalf)), "passed");
}

TEST(CompareTest, SaysWhichShapeTypeOrCountIsWrong) {
  EXPECT_EQ(FaultOf(at::zeros({2, 3}), at::zeros({3, 2})),
            "out0 has shape [2, 3], the reference's has [3, 2].");
  EXPECT_EQ(FaultOf(at::zeros({2}, at::kHalf), at::zeros({2})),
            "out0 is float16, the reference's is float32.");
  CheckReport report;
  auto compared =
      CompareOutputs({at::zeros({2})}, {at::zeros({2}), at::zeros({2})}, {}, "verified", &report);
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().message, "The candidate has 1 output(s), the reference 2.");
}

TEST(CompareTest, RefusesAnUnknownTierAsNobodysFault) {
  CheckReport report;
  auto compared = CompareOutputs({at::zeros({2})}, {at::zeros({2})}, {}, "loose", &report);
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().verdict, Verdict::kInfraError);
}

TEST(CompareTest, NamesTheWorstElement) {
  const at::Tensor expected = at::ones({4, 5});
  at::Tensor got = expected.clone();
  got[1][2] = 1.5;
  got[2][4] = -3;
  const CheckReport report = Compare(got, expected);
  ASSERT_TRUE(report.mismatch);
  EXPECT_EQ(report.mismatch->output, "out0");
  EXPECT_EQ(report.mismatch->index, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(report.mismatch->got, -3);
  EXPECT_EQ(report.mismatch->expected, 1);
  EXPECT_EQ(report.mismatch->abs_error, 4);
  EXPECT_EQ(report.mismatch->rel_error, 2);  // 4 / (RMS 1 + |1|)
  EXPECT_EQ(report.mismatch->differing, 2);
  EXPECT_EQ(report.mismatch->total, 20);
  EXPECT_EQ(
      FaultOf(got, expected),
      "out0 is wrong in 2 of 20 elements (tier verified: atol 0.001, rtol 0.001); the worst is "
      "at [2, 4]: got -3, expected 1; only rows 1 to 2 are wrong.");
}

TEST(CompareTest, FindsTheLogicalIndexInChannelsLast) {
  const at::Tensor expected = at::ones({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor got = expected.clone();
  got[1][2][3][4] = 9;
  EXPECT_EQ(Compare(got, expected).mismatch->index, (std::vector<int64_t>{1, 2, 3, 4}));
  // Differing layouts compare by their logical elements.
  EXPECT_EQ(Compare(got.contiguous(), expected).mismatch->index,
            (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_FALSE(Compare(expected.contiguous(), expected).mismatch);
}

TEST(CompareTest, FindsTheWorstElementBeyondTheFirstChunk) {
  const at::Tensor expected = at::ones({3, 1 << 20});
  at::Tensor got = expected.clone();
  got[2][(1 << 20) - 7] = 2;
  const CheckReport report = Compare(got, expected);
  EXPECT_EQ(report.mismatch->index, (std::vector<int64_t>{2, (1 << 20) - 7}));
  EXPECT_EQ(report.mismatch->differing, 1);
}

TEST(CompareTest, WantsNanAndInfinityInTheSamePlaces) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  at::Tensor expected = Matrix();
  expected[0][0] = nan;
  expected[0][1] = inf;
  expected[0][2] = -inf;
  EXPECT_FALSE(Compare(expected.clone(), expected).mismatch);
  at::Tensor got = expected.clone();
  got[0][2] = inf;
  EXPECT_EQ(Compare(got, expected).mismatch->index, (std::vector<int64_t>{0, 2}));
  got = expected.clone();
  got[0][0] = 1;
  EXPECT_EQ(Compare(got, expected).mismatch->index, (std::vector<int64_t>{0, 0}));
  got = expected.clone();
  got[5][5] = nan;
  EXPECT_EQ(Compare(got, expected).mismatch->index, (std::vector<int64_t>{5, 5}));
  // Infinite values must not widen the tolerance of the others.
  got = expected.clone();
  got[7][7] += 0.1;
  EXPECT_EQ(Compare(got, expected).mismatch->index, (std::vector<int64_t>{7, 7}));
}

TEST(CompareTest, ComparesIntegersAndBooleansExactly) {
  const at::Tensor expected = at::arange(100);
  at::Tensor got = expected.clone();
  EXPECT_EQ(FaultOf(got, expected), "passed");
  got[40] += 1;
  EXPECT_EQ(FaultOf(got, expected),
            "out0 is wrong in 1 of 100 elements (must be equal); the worst is at [40]: got 41, "
            "expected 40; only element 40 is wrong.");
  const at::Tensor flags = expected.gt(50);
  EXPECT_EQ(FaultOf(flags.clone(), flags), "passed");
  EXPECT_NE(FaultOf(flags.logical_not(), flags), "passed");
  // Neighbours that float64 cannot tell apart.
  const at::Tensor big = at::full({3}, (int64_t{1} << 53) + 1, at::kLong);
  EXPECT_NE(FaultOf(big - 1, big), "passed");
}

TEST(CompareTest, HoldsTheEndsOfFloat32) {
  const at::Tensor huge = at::full({64}, 3e38);
  EXPECT_NE(FaultOf(at::full({64}, 1e38), huge), "passed");
  EXPECT_EQ(FaultOf(huge * 0.9999, huge), "passed");
  const at::Tensor tiny = at::full({64}, 1e-36);
  EXPECT_NE(FaultOf(at::zeros({64}), tiny), "passed");
  EXPECT_EQ(FaultOf(at::zeros({64}), at::zeros({64})), "passed");
  EXPECT_NE(FaultOf(at::full({64}, 1e-20), at::zeros({64})), "passed");
}

TEST(CompareTest, ComparesEmptyScalarComplexAndBroadcastOutputs) {
  EXPECT_EQ(FaultOf(at::zeros({0, 4}), at::zeros({0, 4})), "passed");
  EXPECT_EQ(FaultOf(at::scalar_tensor(2.0), at::scalar_tensor(2.0)), "passed");
  EXPECT_NE(FaultOf(at::scalar_tensor(3.0), at::scalar_tensor(2.0)), "passed");
  const at::Tensor wave = at::complex(Matrix(), Matrix() * 2);
  EXPECT_EQ(FaultOf(wave.clone(), wave), "passed");
  EXPECT_NE(FaultOf(wave.conj().resolve_conj(), wave), "passed");
  const at::Tensor wide = at::rand({1, 8}).expand({4, 8});
  EXPECT_EQ(FaultOf(wide.contiguous(), wide), "passed");
}

TEST(CompareTest, AllowsTwiceTheErrorOfEagerUnderTf32AtTheDecidingTierAlone) {
  const at::Tensor expected = Matrix();
  const at::Tensor tf32 = expected * 1.002;  // scaled errors up to 1.2e-3
  const at::Tensor got = expected * 1.0035;  // up to 2.1e-3: beyond the tier, within twice eager's
  CheckReport report;
  EXPECT_FALSE(CompareOutputs({got}, {expected}, {}, "verified", &report));
  report = {};
  EXPECT_TRUE(CompareOutputs({got}, {expected}, {tf32}, "verified", &report));
  EXPECT_TRUE(TierPassed(report, "verified"));
  EXPECT_FALSE(TierPassed(report, "kernelbench"));
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], HasSubstr("twice the error of eager under TF32"));
  report = {};
  EXPECT_FALSE(CompareOutputs({expected * 1.006}, {expected}, {tf32}, "verified", &report));
}

TEST(CompareTest, DecidesByTheWorstOfSeveralOutputs) {
  CheckReport report;
  const at::Tensor a = Matrix(), b = Matrix(3, 3);
  auto compared = CompareOutputs({a.clone(), b + 1}, {a, b}, {}, "verified", &report);
  ASSERT_FALSE(compared);
  EXPECT_EQ(report.mismatch->output, "out1");
}

TEST(CompareHintTest, SaysUnwrittenZeroAndConstant) {
  const at::Tensor expected = Matrix();
  EXPECT_EQ(HintOf(at::full_like(expected, std::numeric_limits<float>::quiet_NaN()), expected),
            "every element is NaN: the output was never written");
  EXPECT_EQ(HintOf(at::zeros_like(expected), expected), "the output is all zeros");
  EXPECT_EQ(HintOf(at::full_like(expected, 0.25), expected), "every element is 0.25");
  EXPECT_EQ(HintOf(at::full({8}, -1, at::kInt), at::arange(8, at::kInt)),
            "every byte is 0xFF: the output was never written");
}

TEST(CompareHintTest, SaysConstantFactorAndOffset) {
  const at::Tensor expected = Matrix();
  EXPECT_EQ(HintOf(expected * 2, expected), "all elements are off by the constant factor 2.000");
  EXPECT_EQ(HintOf(-expected, expected), "the sign of every element is flipped");
  EXPECT_EQ(HintOf(expected + 3, expected), "all elements are off by the constant offset 3");
}

TEST(CompareHintTest, SaysTransposed) {
  const at::Tensor square = Matrix(16, 16), tall = Matrix(12, 5);
  EXPECT_EQ(HintOf(square.t().contiguous(), square),
            "the output looks transposed in its last two dimensions");
  EXPECT_EQ(HintOf(tall.t().contiguous().view({12, 5}), tall),
            "the output looks transposed in its last two dimensions");
}

TEST(CompareHintTest, SaysWhereRowsAndColumnsAreWrong) {
  const at::Tensor expected = Matrix();
  at::Tensor got = expected.clone();
  got.narrow(0, 32, 32).copy_(at::rand({32, 8}));
  EXPECT_EQ(HintOf(got, expected), "all rows after 31 are wrong");
  got = expected.clone();
  got.narrow(1, 6, 2).copy_(at::rand({64, 2}));
  EXPECT_EQ(HintOf(got, expected), "only the last 2 columns are wrong");
  got = expected.clone();
  got.narrow(1, 0, 1).mul_(at::rand({64, 1}) + 2);
  EXPECT_EQ(HintOf(got, expected), "only column 0 is wrong");
  got = expected.clone();
  got.narrow(0, 0, 3).mul_(at::rand({3, 1}) + 2);
  EXPECT_EQ(HintOf(got, expected), "only the first 3 rows are wrong");
}

TEST(CompareHintTest, SaysNanInTheLastTile) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor expected = Matrix();
  at::Tensor got = expected.clone();
  got.narrow(0, 60, 4).fill_(nan);
  EXPECT_EQ(HintOf(got, expected), "only the last 4 rows are NaN: they were never written");
  got = expected.clone();
  got.view({-1}).narrow(0, 64 * 8 - 12, 12).fill_(nan);
  EXPECT_EQ(HintOf(got, expected), "only the last 2 rows are NaN: they were never written");
  const at::Tensor line = at::rand({1000});
  got = line.clone();
  got.narrow(0, 1000 - 1000 % 256, 1000 % 256).fill_(nan);
  EXPECT_EQ(HintOf(got, line), "only the last 232 elements are NaN: they were never written");
  const at::Tensor wide = Matrix(1, 4096).view({2, 2048});
  got = wide.clone();
  got.view({-1}).narrow(0, 1500, 4096 - 1500).fill_(nan);
  EXPECT_EQ(HintOf(got, wide), "NaN in the last tile: the last 2596 elements were never written");
  got = wide.clone();
  got[1].narrow(0, 1024, 1024).fill_(nan);
  got[0].narrow(0, 0, 1).fill_(nan);
  EXPECT_EQ(HintOf(got, wide),
            "the wrong elements are all NaN: they were never written, or computed as NaN");
}

TEST(CompareHintTest, ClaimsNothingWithoutAPattern) {
  const at::Tensor expected = Matrix();
  at::Tensor got = expected.clone();
  got[3][1] += 1;
  got[60][6] += 2;
  got[30][3] += 2;
  EXPECT_EQ(HintOf(got, expected), "");
}

// Largest number of bytes held at once by tensors made while it lives.
class PeakRecorder : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t now_ = 0, peak_ = 0;
};

int64_t PeakOf(const at::Tensor& got, const at::Tensor& expected) {
  auto recorder = std::make_shared<PeakRecorder>();
  CheckReport report;
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, recorder);
    (void)CompareOutputs({got}, {expected}, {}, "verified", &report);
  }
  EXPECT_GT(recorder->peak(), 0);
  return recorder->peak();
}

TEST(CompareMemoryTest, TakesLessThanTheOutputsPassingOrFailing) {
  for (at::ScalarType type : {at::kFloat, at::kHalf, at::kLong}) {
    const at::Tensor expected = (at::rand({2048, 512}) * 50).to(type);
    const auto bytes = static_cast<int64_t>(expected.nbytes());
    EXPECT_LE(PeakOf(expected.clone(), expected), bytes * 11 / 10) << type;
    at::Tensor wrong = expected.clone();
    wrong.narrow(0, 1500, 400).zero_();
    wrong.narrow(0, 100, 4).zero_();
    EXPECT_LE(PeakOf(wrong, expected), bytes * 11 / 10) << type;
    EXPECT_LE(PeakOf(expected.t().contiguous().t(), expected), bytes * 11 / 10) << type;
  }
}

}  // namespace
}  // namespace cudaagent::verify
