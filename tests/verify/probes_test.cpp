#include "verify/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "verify/fakes.h"

namespace cudaagent::verify {
namespace {

// A reference whose result is any function of input and weight.
class Computes : public FakeReference {
 public:
  using Function = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& weight)>;
  Computes(Events* events, Function function)
      : FakeReference(events), function_(std::move(function)) {}
  Result<std::vector<at::Tensor>> Forward(const std::vector<c10::IValue>& inputs,
                                          Precision) override {
    return std::vector<at::Tensor>{function_(inputs[0].toTensor(), parameters().at("weight"))};
  }

 private:
  Function function_;
};

std::string Found(Computes::Function function, const std::string& tier = "verified") {
  Events events;
  Computes reference(&events, std::move(function));
  const at::Tensor before = reference.parameters().at("weight").clone();
  auto found = FindDegenerate(reference, tier);
  EXPECT_TRUE(at::equal(before, reference.parameters().at("weight")));
  return found ? *found : "an Error: " + found.error().message;
}

TEST(FindDegenerateTest, FindsNothingInAnHonestProblem) {
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor& w) { return x * w; }), "");
}

TEST(FindDegenerateTest, FindsAResultOfZeros) {
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor& w) {
              const at::Tensor y = x * w;
              return y - y;
            }),
            "zeros pass for the result");
}

TEST(FindDegenerateTest, FindsOneConstant) {
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor& w) { return (x * w) * 0 + 2.5; }),
            "one constant passes for the result");
}

TEST(FindDegenerateTest, FindsACopyOfTheInputOnlyWhereScaledInputsAgree) {
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor&) { return x + 1e-9; }),
            "a copy of input x passes for the result");
  // relu is the identity on inputs as generated, but not on their negatives.
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor&) { return x.relu(); }), "");
}

TEST(FindDegenerateTest, FindsAResultThatDependsOnWeightsOnly) {
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor& w) { return x * 1e-9 + w; }),
            "the result for other inputs passes: it does not depend on them");
}

TEST(FindDegenerateTest, DependsOnTheTier) {
  // Only the sign of the input shows, and only by less than 1e-2.
  const auto nearly = [](const at::Tensor& x, const at::Tensor& w) { return (x > 0) * 1e-2 + w; };
  EXPECT_EQ(Found(nearly), "");
  EXPECT_NE(Found(nearly, "cuda-agent"), "");
}

TEST(FindDegenerateTest, SaysNothingOfResultsThatAreNotFinite) {
  EXPECT_EQ(Found([](const at::Tensor& x, const at::Tensor&) { return x / 0; }), "");
}

}  // namespace
}  // namespace cudaagent::verify
