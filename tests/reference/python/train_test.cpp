// Problems in train mode: the batch's statistics, buffers put back, nothing random.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "reference/python/models.h"

namespace cudaagent::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ProblemSpec Training(const std::string& body, const std::string& init = "pass") {
  ProblemSpec spec = SpecOf(WithForward(body, init));
  spec.mode = Mode::kTrain;
  return spec;
}

const char* const kNorm = "self.bn = nn.BatchNorm1d(4); self.bn.running_mean.fill_(7)";

TEST(TrainModeTest, NormalisesByTheBatchAndNamesTheBuffersThatChange) {
  auto reference = Load(Training("return self.bn(x)", kNorm));
  ASSERT_TRUE(reference);
  EXPECT_THAT(reference->info().statistics,
              ElementsAre("bn.running_mean", "bn.running_var", "bn.num_batches_tracked"));
  auto inputs = reference->MakeInputs(1);
  ASSERT_TRUE(inputs);
  auto outputs = reference->Forward(*inputs, Precision::kFp32);
  ASSERT_TRUE(outputs);
  EXPECT_TRUE((*outputs)[0].mean(0).allclose(at::zeros({4}), 0, 1e-4));

  ProblemSpec usual = Training("return self.bn(x)", kNorm);
  usual.mode = Mode::kEval;
  auto eval = Load(usual);
  ASSERT_TRUE(eval);
  EXPECT_THAT(eval->info().statistics, IsEmpty());
  EXPECT_NE(eval->info().hash, reference->info().hash);
}

TEST(TrainModeTest, EveryForwardBeginsWithTheFirstStatistics) {
  // A forward whose result depends on what the one before left behind.
  auto reference = Load(Training("y = self.bn(x) + self.bn.running_mean; return y", kNorm));
  ASSERT_TRUE(reference);
  auto inputs = reference->MakeInputs(1);
  ASSERT_TRUE(inputs);
  auto first = reference->Forward(*inputs, Precision::kFp32);
  auto second = reference->Forward(*inputs, Precision::kFp32);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE((*first)[0].equal((*second)[0]));
  EXPECT_FALSE(reference->parameters().at("bn.running_mean").equal(at::full({4}, 7.0f)));
  auto exact = reference->ForwardDouble(*inputs);
  ASSERT_TRUE(exact);
  EXPECT_TRUE((*exact)[0].to(at::kFloat).allclose((*first)[0], 1e-4, 1e-4));
  ASSERT_TRUE(reference->Forward(*inputs, Precision::kFp32));
  ASSERT_TRUE(reference->RestoreStatistics());
  EXPECT_TRUE(reference->parameters().at("bn.running_mean").equal(at::full({4}, 7.0f)));
  EXPECT_EQ(reference->parameters().at("bn.num_batches_tracked").item<int64_t>(), 0);
}

TEST(TrainModeTest, NewParametersAreTheFirstStatisticsUntilTheyAreTakenBack) {
  auto reference = Load(Training("return self.bn(x)", kNorm));
  ASSERT_TRUE(reference);
  auto inputs = reference->MakeInputs(1);
  ASSERT_TRUE(inputs);
  ASSERT_TRUE(reference->RedrawParameters(5));
  const at::Tensor drawn = reference->parameters().at("bn.running_mean").clone();
  ASSERT_TRUE(reference->Forward(*inputs, Precision::kFp32));
  ASSERT_TRUE(reference->RestoreStatistics());
  EXPECT_TRUE(reference->parameters().at("bn.running_mean").equal(drawn));
  ASSERT_TRUE(reference->Forward(*inputs, Precision::kFp32));
  ASSERT_TRUE(reference->RestoreParameters());
  ASSERT_TRUE(reference->Forward(*inputs, Precision::kFp32));
  ASSERT_TRUE(reference->RestoreStatistics());
  EXPECT_TRUE(reference->parameters().at("bn.running_mean").equal(at::full({4}, 7.0f)));
}

TEST(TrainModeTest, TheGraphUpdatesNothingThatNoOutputNeeds) {
  auto reference = Load(Training("return self.bn(x)", kNorm));
  ASSERT_TRUE(reference);
  EXPECT_THAT(reference->info().graph_json,
              HasSubstr(R"({"ref":"bn.weight"},{"ref":"bn.bias"},null,null,true)"));
  EXPECT_THAT(reference->info().graph_json, Not(HasSubstr("num_batches_tracked")));
  auto twice = Load(Training("return self.bn(self.bn(x))", kNorm));
  ASSERT_TRUE(twice);
  EXPECT_THAT(twice->info().graph_json, Not(HasSubstr("num_batches_tracked")));
  auto read = Load(Training("y = self.bn(x) + self.bn.running_mean; return y", kNorm));
  ASSERT_TRUE(read);
  EXPECT_THAT(read->info().graph_json, HasSubstr(R"({"ref":"bn.running_mean"},)"));
}

TEST(TrainModeTest, ARecurrentLayerThatDropsNothingIsACallThatPlansMayMake) {
  auto reference = Load(Training("return self.rnn(x)[0]", "self.rnn = nn.GRU(4, 3)"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->info().export_error, "");
  auto graph = graph::ParseGraph(reference->info().graph_json);
  ASSERT_TRUE(graph);
  EXPECT_THAT(reference->info().graph_json, HasSubstr("true,1,0.0,false,false,false"));
}

TEST(TrainModeTest, RefusesProblemsThatDropAtRandom) {
  const std::map<std::string, std::string> problems = {
      {"return self.drop(x)", "self.drop = nn.Dropout(0.2)"},
      {"return nn.functional.dropout(x, 0.5, self.training)", "pass"},
      {"return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1)", "pass"},
      {"return self.rnn(x)[0]", "self.rnn = nn.LSTM(4, 3, 2, dropout=0.1)"},
      {"return x + torch.rand_like(x) if self.training else x", "pass"}};
  for (const auto& [body, init] : problems) {
    const std::string error = LoadError(Training(body, init));
    EXPECT_THAT(error,
                testing::StartsWith("usage: model.py draws random numbers in train mode (aten::"))
        << body;
    EXPECT_THAT(error, HasSubstr("use --mode eval")) << body;
  }
}

TEST(TrainModeTest, TakesProblemsThatDrawInEitherModeOrDropNothing) {
  for (const char* init : {"self.drop = nn.Dropout(0)", "self.drop = torch.rand_like"}) {
    EXPECT_TRUE(Load(Training("return x + self.drop(x)", init))) << init;
  }
}

TEST(TrainModeTest, TheModulesTellWhereTheGraphIsNotKnown) {
  const std::string body = "y = x * float(x.sum() > 0); return self.drop(y)";
  const ProblemSpec spec = Training(body, "self.drop = nn.Dropout(0.2)");
  EXPECT_THAT(LoadError(spec), HasSubstr("in train mode (Dropout)"));
}

}  // namespace
}  // namespace cudaagent::reference
