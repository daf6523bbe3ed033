#include "verify/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "verify/fakes.h"
#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Checked<void> Right(device::Bindings& bindings, at::Tensor& out) {
  at::mul_out(out, bindings.inputs["x"], bindings.parameters["weight"]);
  return {};
}

class VariantsTest : public testing::Test {
 protected:
  VariantsTest() : reference(&events) {
    options.trials = 1;
    bindings.inputs["x"] = at::zeros({8, 4});
    bindings.scalars["n"] = int64_t{3};
    bindings.parameters["weight"] = reference.parameters().at("weight").clone();
  }
  Fault FaultOf(FakeRunner::Work work, bool gpu = false) {
    FakeDevice device(&events, gpu);
    FakeRunner runner(&events, &bindings, std::move(work));
    auto checked = CheckCandidate(runner, device, bindings, reference, precision, options, &report);
    if (!checked) return {Verdict::kInfraError, "an Error: " + checked.error().message};
    if (*checked) return {Verdict::kOk, ""};
    return checked->error();
  }

  Events events;
  FakeReference reference;
  device::Bindings bindings;
  Precision precision = Precision::kFp32;
  EvalOptions options;
  CheckReport report;
};

TEST_F(VariantsTest, PassesAnHonestCandidateInAllOfThem) {
  const Fault fault = FaultOf(Right);
  EXPECT_EQ(fault.verdict, Verdict::kOk) << fault.message;
  EXPECT_EQ(report.variants, 5);
  EXPECT_EQ(report.variants_passed, 5);
  EXPECT_EQ(report.determinism, "bitwise");
  ASSERT_FALSE(report.tiers.empty());
  EXPECT_EQ(report.tiers.back().name, "strict");
  EXPECT_TRUE(report.tiers.back().passed);
  EXPECT_EQ(report.seeds.size(), 6u);
}

TEST_F(VariantsTest, CatchesAnAbsoluteValueLeftOutWhereInputsArePositive) {
  // Right for inputs in [0, 1) only: |x| * weight instead of x * weight.
  const Fault fault = FaultOf([](device::Bindings& bound, at::Tensor& out) {
    at::mul_out(out, bound.inputs["x"].abs(), bound.parameters["weight"]);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("All 1 trials pass, but with inputs x -1: out0 is wrong"));
}

TEST_F(VariantsTest, CatchesWeightsThatWereHardCoded) {
  const at::Tensor known = reference.parameters().at("weight").clone();
  const Fault fault = FaultOf([&](device::Bindings& bound, at::Tensor& out) {
    at::mul_out(out, bound.inputs["x"], known);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("but with new parameters: out0 is wrong"));
  EXPECT_TRUE(at::equal(reference.parameters().at("weight"), known));
  EXPECT_TRUE(at::equal(bindings.parameters["weight"], known));
}

TEST_F(VariantsTest, PreparesAnewForNewParametersAndForTheOldOnesAfterwards) {
  EXPECT_EQ(FaultOf(Right).verdict, Verdict::kOk);
  Events relevant;
  for (const std::string& event : events) {
    if (event == "redraw" || event == "prepare" || event == "restore") relevant.push_back(event);
  }
  EXPECT_THAT(relevant, ElementsAre("redraw", "prepare", "restore", "prepare"));
}

TEST_F(VariantsTest, RestoresParametersAfterAFaultOfTheCandidate) {
  const at::Tensor known = reference.parameters().at("weight").clone();
  int run = 0;
  const Fault fault = FaultOf([&](device::Bindings& bound, at::Tensor& out) {
    if (++run == 7) return Checked<void>(Blame(Verdict::kTimedOut, "too long"));
    return Right(bound, out);
  });
  EXPECT_EQ(fault.verdict, Verdict::kTimedOut);
  EXPECT_EQ(events.back(), "restore");
  EXPECT_TRUE(at::equal(reference.parameters().at("weight"), known));
  EXPECT_TRUE(at::equal(bindings.parameters["weight"], known));
}

TEST_F(VariantsTest, SkipsAndCountsAVariantThatEagerItselfGetsWrong) {
  reference.double_factor = 1.5;  // float64 says that eager is far off
  const Fault fault = FaultOf([](device::Bindings& bound, at::Tensor& out) {
    at::mul_out(out, bound.inputs["x"].abs(), bound.parameters["weight"]);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kOk) << fault.message;
  EXPECT_EQ(report.variants, 5);
  EXPECT_EQ(report.variants_passed, 4);
  ASSERT_EQ(report.skipped_variants.size(), 1u);
  EXPECT_THAT(report.skipped_variants[0], HasSubstr("inputs x -1: eager itself is"));
}

TEST_F(VariantsTest, NotesResultsThatVaryFromRunToRun) {
  int run = 0;
  const Fault fault = FaultOf([&](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    out.mul_(1 + 1e-5 * ++run);
    return Checked<void>();
  });
  EXPECT_EQ(fault.verdict, Verdict::kOk) << fault.message;
  EXPECT_EQ(report.determinism, "within tolerance");
}

TEST_F(VariantsTest, CallsAResultThatIsRightEverySecondTimeNondeterministic) {
  int run = 0;
  const Fault fault = FaultOf(
      [&](device::Bindings& bound, at::Tensor& out) {
        (void)Right(bound, out);
        if (++run % 2 == 0) out.zero_();
        return Checked<void>();
      },
      /*gpu=*/true);
  EXPECT_EQ(fault.verdict, Verdict::kNondeterministic);
  EXPECT_THAT(fault.message, HasSubstr("depends on chance"));
}

TEST_F(VariantsTest, DecidesByTheStrictTierWhereAsked) {
  const auto rounded = [](device::Bindings& bound, at::Tensor& out) {
    (void)Right(bound, out);
    out.copy_(out.to(at::kHalf));  // float16 inside a float32 kernel: 5e-4, within 1e-3
    return Checked<void>();
  };
  EXPECT_EQ(FaultOf(rounded).verdict, Verdict::kOk);
  EXPECT_FALSE(report.tiers.back().passed);
  options.tier = "strict";
  report = {};
  const Fault fault = FaultOf(rounded);
  EXPECT_EQ(fault.verdict, Verdict::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("from the float64 reference"));
  report = {};
  EXPECT_EQ(FaultOf(Right).verdict, Verdict::kOk);
}

TEST(WithOutliersTest, MakesASumOverAPartDifferFromTheWhole) {
  const std::vector<c10::IValue> inputs = {at::ones({1 << 16}), at::ones({3}, at::kLong)};
  int found_out = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const at::Tensor changed = WithOutliers(inputs, seed)[0].toTensor();
    const double whole = changed.sum().item<double>();
    const double sampled = changed.slice(0, 0, 1 << 16, 16).sum().item<double>() * 16;
    found_out += std::abs(whole - sampled) / whole > 0.01;
  }
  EXPECT_GE(found_out, 15);
  EXPECT_TRUE(at::equal(inputs[0].toTensor(), at::ones({1 << 16})));
  EXPECT_TRUE(at::equal(WithOutliers(inputs, 1)[1].toTensor(), at::ones({3}, at::kLong)));
}

TEST_F(VariantsTest, CatchesAnExponentialThatOverflowsWhereThereIsASoftmax) {
  // Right up to inputs of 50.
  const auto naive = [](device::Bindings& bound, at::Tensor& out) {
    const at::Tensor x = bound.inputs["x"];
    at::mul_out(out, at::where(x > 50, at::full_like(x, INFINITY), x), bound.parameters["weight"]);
    return Checked<void>();
  };
  EXPECT_EQ(FaultOf(naive).verdict, Verdict::kOk);
  reference.Graph("aten::softmax");
  const Fault fault = FaultOf(naive);
  EXPECT_EQ(fault.verdict, Verdict::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("inputs + 100"));
}

TEST(ShiftsTellTest, OfSoftmaxesWithoutProductsAndNorms) {
  EXPECT_TRUE(ShiftsTell("... \"aten::log_softmax\" \"aten::nll_loss_nd\""));
  EXPECT_FALSE(ShiftsTell("\"aten::linear\" \"aten::softmax\""));
  EXPECT_FALSE(ShiftsTell("\"aten::layer_norm\" \"aten::softmax\""));
  EXPECT_FALSE(ShiftsTell("\"aten::relu\""));
}

TEST(ScaleInputsTest, LeavesIntegersAndScalarsAsTheyAre) {
  const std::vector<c10::IValue> scaled =
      ScaleInputs({at::ones({2}), at::ones({2}, at::kLong), int64_t{7}}, 3);
  EXPECT_TRUE(at::equal(scaled[0].toTensor(), at::full({2}, 3.0)));
  EXPECT_TRUE(at::equal(scaled[1].toTensor(), at::ones({2}, at::kLong)));
  EXPECT_EQ(scaled[2].toInt(), 7);
}

}  // namespace
}  // namespace cudaagent::verify
