#include "device/op_call.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "candidate/op_allow_list.h"
#include "candidate/validate.h"
#include "device/fake_device.h"

namespace cudaagent::device {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Tensors by name; those in `read_only` are protected.
class TestScope : public OpScope {
 public:
  Checked<c10::IValue> Find(const std::string& name) override {
    const auto found = tensors.find(name);
    if (found == tensors.end()) return Blame(Verdict::kBadCandidate, "nothing is called " + name);
    return c10::IValue(found->second);
  }
  const candidate::Scope& values() const override { return scope; }
  at::Device device() const override { return at::kCPU; }
  std::string ProtectedName(const at::Tensor& tensor) const override {
    for (const std::string& name : read_only) {
      if (ShareStorage(tensors.at(name), tensor)) return "$" + name;
    }
    return "";
  }

  std::map<std::string, at::Tensor> tensors;
  std::vector<std::string> read_only;
  candidate::ProblemScope scope{ProblemInfo{}, {{"N", 3}}};
};

class OpCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scope_.tensors["x"] = at::arange(24, at::kFloat).reshape({2, 3, 4});
    scope_.tensors["h"] = at::ones({2, 3, 4});
    scope_.read_only = {"x"};
  }

  // `step` is one op step of a plan.
  Checked<std::vector<at::Tensor>> Call(const std::string& step) {
    const auto candidate = Candidate(R"({"plan": 1, "steps": [)" + step + "]}");
    if (candidate.plan.steps.empty()) return Blame(Verdict::kInfraError, "no step");
    return CallOp(std::get<candidate::OpStep>(candidate.plan.steps[0].what), "steps[0]", scope_);
  }
  at::Tensor Result(const std::string& step) {
    auto results = Call(step);
    if (!results) {
      ADD_FAILURE() << results.error().message;
      return at::empty({0});
    }
    return results->at(0);
  }
  std::string Sentence(const std::string& step) {
    auto results = Call(step);
    if (results) return "it ran";
    EXPECT_EQ(results.error().verdict, Verdict::kBadCandidate);
    return results.error().message;
  }
  const at::Tensor& x() { return scope_.tensors["x"]; }

  TestScope scope_;
};

TEST_F(OpCallTest, ConvertsValuesByTheSchema) {
  EXPECT_TRUE(at::equal(Result(R"({"op": "aten::sum.dim_IntList", "args": ["$x", [1], true],
                 "kwargs": {"dtype": "float64"}, "out": "s"})"),
                        at::sum(x(), {1}, true, at::kDouble)));
  EXPECT_TRUE(at::equal(Result(R"({"op": "aten::mul.Tensor", "args": ["$x", 2.5], "out": "s"})"),
                        x() * 2.5));
  EXPECT_TRUE(at::equal(Result(R"({"op": "aten::cat", "args": [["$x", "$h"], 1], "out": "s"})"),
                        at::cat({x(), scope_.tensors["h"]}, 1)));
  EXPECT_TRUE(at::equal(
      Result(R"({"op": "aten::narrow", "args": ["$x", 1, {"expr": "N - 2"}, 2], "out": "s"})"),
      x().narrow(1, 1, 2)));
  EXPECT_EQ(
      Result(R"({"op": "aten::to.dtype", "args": ["$x", "float16"], "out": "s"})").scalar_type(),
      at::kHalf);
  EXPECT_TRUE(at::equal(Result(R"({"op": "aten::clamp", "args": ["$x", null, 5], "out": "s"})"),
                        at::clamp(x(), std::nullopt, 5)));
  scope_.tensors["mask"] = x() > 5;
  EXPECT_TRUE(
      at::equal(Result(R"({"op": "aten::masked_fill.Scalar", "args": ["$x", "$mask", "-inf"],
                 "out": "s"})"),
                at::masked_fill(x(), x() > 5, -std::numeric_limits<double>::infinity())));
}

TEST_F(OpCallTest, SpreadsOneIntegerOverAListOfKnownLength) {
  scope_.tensors["image"] = at::rand({1, 2, 8, 8});
  EXPECT_TRUE(at::equal(Result(R"({"op": "aten::max_pool2d", "args": ["$image", 2], "out": "p"})"),
                        at::max_pool2d(scope_.tensors["image"], {2, 2})));
}

TEST_F(OpCallTest, ReadsMemoryFormats) {
  scope_.tensors["image"] = at::rand({1, 2, 8, 8});
  EXPECT_TRUE(Result(R"({"op": "aten::contiguous", "args": ["$image"],
                         "kwargs": {"memory_format": "channels_last"}, "out": "c"})")
                  .is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_F(OpCallTest, ReturnsTuplesAsLists) {
  auto results = Call(R"({"op": "aten::max.dim", "args": ["$x", 1], "out": ["values", null]})");
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->size(), 2U);
  EXPECT_TRUE(at::equal(results->at(0), std::get<0>(x().max(1))));
  EXPECT_FALSE(results->at(1).defined());
  results = Call(R"({"op": "aten::split.Tensor", "args": ["$x", 1, 1], "out": ["a", "b", "c"]})");
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_TRUE(at::equal(results->at(2), x().narrow(1, 2, 1)));
}

TEST_F(OpCallTest, PassesNullInsideTensorLists) {
  scope_.tensors["i"] = at::tensor({2, 0}, at::kLong);
  EXPECT_TRUE(
      at::equal(Result(R"({"op": "aten::index.Tensor", "args": ["$x", [null, "$i"]], "out": "s"})"),
                x().index_select(1, scope_.tensors["i"])));
}

TEST_F(OpCallTest, MakesFactoriesOnTheRunsDevice) {
  const at::Tensor made = Result(R"({"op": "aten::ones", "args": [[2, 3]], "out": "o"})");
  EXPECT_EQ(made.device(), at::Device(at::kCPU));
}

TEST_F(OpCallTest, WritesToResultsButNotToInputs) {
  EXPECT_TRUE(at::equal(Result(R"({"op": "aten::relu_", "args": ["$h"], "out": "r"})"),
                        at::ones({2, 3, 4})));
  EXPECT_EQ(Sentence(R"({"op": "aten::relu_", "args": ["$x"], "out": "r"})"),
            "steps[0]: aten::relu_ writes to \"self\", which shares memory with $x; inputs and "
            "parameters may only be read.");
  EXPECT_EQ(Sentence(R"({"op": "aten::add.out", "args": ["$h", "$h"], "kwargs": {"out": "$x"}})"),
            "steps[0]: aten::add.out writes to \"out\", which shares memory with $x; inputs and "
            "parameters may only be read.");
}

TEST_F(OpCallTest, RefusesAnOutArgumentOfAnotherShape) {
  scope_.tensors["small"] = at::empty({1});
  EXPECT_THAT(
      Sentence(R"({"op": "aten::add.out", "args": ["$h", "$h"], "kwargs": {"out": "$small"}})"),
      HasSubstr("but the tensor passed as \"out\" has shape [1]"));
}

TEST_F(OpCallTest, RefusesUpdatesOfRunningStatistics) {
  scope_.tensors["image"] = at::rand({2, 3, 4});
  scope_.tensors["mean"] = at::zeros({3});
  scope_.tensors["var"] = at::ones({3});
  scope_.read_only = {"mean", "var"};
  EXPECT_THAT(Sentence(R"({"op": "aten::batch_norm", "args": ["$image", null, null, "$mean", "$var",
                           true, 0.1, 1e-5, true], "out": "b"})"),
              HasSubstr("which shares memory with $mean"));
}

TEST_F(OpCallTest, RefusesWhatIsNotOnTheList) {
  EXPECT_EQ(Sentence(R"({"op": "aten::randn", "args": [[2]], "out": "r"})"),
            "steps[0]: the op \"aten::randn\" is not on the list of ops that plans may call.");
  EXPECT_THAT(Sentence(R"({"op": "aten::from_file", "args": ["/etc/passwd"], "out": "r"})"),
              HasSubstr("is not on the list of ops"));
  EXPECT_THAT(Sentence(R"({"op": "aten::empty", "args": [[2]], "out": "r"})"),
              HasSubstr("is not on the list of ops"));
  EXPECT_EQ(Sentence(R"({"op": "aten::sigmod", "args": ["$x"], "out": "r"})"),
            "steps[0]: the op \"aten::sigmod\" is not on the list of ops that plans may call. Did "
            "you mean \"aten::sigmoid\"?");
}

TEST_F(OpCallTest, RefusesRandomNumbersInAllowedOps) {
  EXPECT_THAT(Sentence(R"({"op": "aten::dropout", "args": ["$x", 0.5, true], "out": "r"})"),
              HasSubstr("draws random numbers"));
  scope_.tensors["q"] = at::rand({1, 1, 2, 4});
  EXPECT_THAT(Sentence(R"({"op": "aten::scaled_dot_product_attention",
                           "args": ["$q", "$q", "$q", null, 0.1], "out": "r"})"),
              HasSubstr("draws random numbers"));
}

TEST_F(OpCallTest, RefusesOtherDevices) {
  EXPECT_EQ(Sentence(R"({"op": "aten::ones", "args": [[2]], "kwargs": {"device": "cuda:1"},
                         "out": "r"})"),
            "steps[0].kwargs.device (device): a plan runs on one device and names none; leave "
            "\"device\" out (found the string \"cuda:1\").");
}

TEST_F(OpCallTest, NamesOverloadsThatExist) {
  EXPECT_THAT(Sentence(R"({"op": "aten::mul", "args": ["$x", "$x"], "out": "r"})"),
              StartsWith("steps[0]"));
  EXPECT_THAT(Sentence(R"({"op": "aten::relu.Tensor", "args": ["$x"], "out": "r"})"),
              HasSubstr("\"aten::relu\" exists as aten::relu, aten::relu.out"));
}

TEST_F(OpCallTest, SaysWhatAnArgumentShouldBe) {
  EXPECT_EQ(Sentence(R"({"op": "aten::softmax.int", "args": ["$x", "last"], "out": "r"})"),
            "steps[0].args[1] (dim): expected an integer, found the string \"last\".");
  EXPECT_EQ(Sentence(R"({"op": "aten::relu", "args": [], "out": "r"})"),
            "steps[0]: aten::relu needs the argument \"self\". Its schema: aten::relu(Tensor self) "
            "-> Tensor.");
  EXPECT_THAT(Sentence(R"({"op": "aten::relu", "args": ["$x", 1], "out": "r"})"),
              HasSubstr("takes 1 arguments by position, \"args\" has 2"));
  EXPECT_THAT(Sentence(R"({"op": "aten::relu", "args": ["$x"], "kwargs": {"alpha": 1},
                           "out": "r"})"),
              HasSubstr("has no argument \"alpha\""));
  EXPECT_THAT(Sentence(R"({"op": "aten::to.dtype", "args": ["$x", "float33"], "out": "r"})"),
              HasSubstr("expected a dtype such as \"float32\""));
}

TEST_F(OpCallTest, PassesOnTheLibrarysFirstLineAndTheSchema) {
  scope_.tensors["w"] = at::ones({5, 5});
  const std::string sentence =
      Sentence(R"({"op": "aten::linear", "args": ["$x", "$w"], "out": "r"})");
  EXPECT_THAT(sentence, StartsWith("steps[0]: aten::linear failed: "));
  EXPECT_THAT(sentence, HasSubstr("Its schema: aten::linear(Tensor input, Tensor weight"));
  EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

TEST_F(OpCallTest, WantsAsManyNamesAsThereAreResults) {
  EXPECT_EQ(Sentence(R"({"op": "aten::max.dim", "args": ["$x", 1], "out": "r"})"),
            "steps[0]: aten::max.dim returns a list of 2 tensors, \"out\" is one name.");
  EXPECT_EQ(Sentence(R"({"op": "aten::relu", "args": ["$x"], "out": ["r"]})"),
            "steps[0]: aten::relu returns 1 tensor, \"out\" is a list of 1.");
}

TEST_F(OpCallTest, TellsMemoryThatRanOutFromABadArgument) {
  auto results = Call(R"({"op": "aten::ones", "args": [[1000000, 1000000, 1000]], "out": "r"})");
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().verdict, Verdict::kOutOfMemory) << results.error().message;
}

TEST(OpAllowListTest, ListsOnlyOpsThatTorchHas) {
  std::set<std::string> known;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) known.insert(name.name);
  for (const std::string& op : candidate::AllowedOps()) EXPECT_TRUE(known.contains(op)) << op;
  EXPECT_TRUE(candidate::IsAllowedOp("aten::linear"));
  EXPECT_FALSE(candidate::IsAllowedOp("linear"));
}

}  // namespace
}  // namespace cudaagent::device
