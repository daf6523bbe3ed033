// What docs/candidate_format.md and configs/candidate.schema.json say is what the code does.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "candidate/problem_fixture.h"

namespace cudaagent::candidate {
namespace {

std::string ReadSourceFile(const std::string& path) {
  std::ifstream file(std::string(CUDAAGENT_SOURCE_DIR "/") + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CandidateDocumentsTest, TheExampleIsValid) {
  auto example = ExtractCandidate(ReadSourceFile("docs/candidate_format.md"));
  ASSERT_TRUE(example) << example.error().message;
  EXPECT_EQ(*example, ReadSourceFile("configs/prompts/example.cu")) << "docs and prompts agree";
  EXPECT_EQ(Complaint(*example), "");
  auto instances = KernelInstances(*ParseCandidate(*example), MakeProblem());
  ASSERT_TRUE(instances);
  EXPECT_EQ(*instances, std::vector<std::string>{"bias_gelu_scale<256, 2>"});
}

// Every field the schema allows is one the reader knows, and the other way round.
TEST(CandidateDocumentsTest, TheSchemaListsTheFieldsOfTheReader) {
  const auto schema = nlohmann::json::parse(ReadSourceFile("configs/candidate.schema.json"));
  auto complaint = [](const std::string& fields) {
    auto parsed = ParseCandidate("/*cudaagent {" + fields + "} */");
    return parsed ? std::string() : parsed.error().message;
  };
  auto names = [](const nlohmann::json& object) {
    std::string list;
    for (const auto& [name, value] : object.at("properties").items())
      list += "\"" + name + "\": 0,";
    list.pop_back();
    return list;
  };
  const auto& defs = schema.at("$defs");
  const std::string plan = "\"plan\": 1, ";
  EXPECT_EQ(complaint(names(schema)).find("unknown field"), std::string::npos);
  EXPECT_NE(complaint(names(schema) + ", \"x\": 0").find("unknown field \"x\""), std::string::npos);
  for (const char* step : {"kernel_step", "op_step", "repeat_step"}) {
    const std::string fields = plan + "\"steps\": [{" + names(defs.at(step));
    EXPECT_EQ(complaint(fields + "}]").find("unknown field"), std::string::npos) << step;
  }
  const std::string buffer = plan + "\"buffers\": {\"t\": {" + names(defs.at("buffer")) + "}}";
  EXPECT_EQ(complaint(buffer).find("unknown field"), std::string::npos);
  for (const auto& dtype : defs.at("dtype").at("enum")) {
    EXPECT_GT(DtypeBytes(dtype.get<std::string>()), 0) << dtype;
    EXPECT_EQ(complaint(plan + "\"buffers\": {\"t\": {\"dtype\": " + dtype.dump() +
                        ", \"shape\": [1]}}, \"steps\": [{\"op\": \"a::b\", \"out\": \"t\"}]"),
              "");
  }
}

}  // namespace
}  // namespace cudaagent::candidate
